// Stories with their reasons, and what the next pod sees of a transaction.
#include <gtest/gtest.h>

#include "dra/search/search.h"
#include "dra/test_world.h"

namespace berth::dra {
namespace {

class AllocatorTest : public ::testing::Test {
 protected:
  AllocatorTest() {
    api::Node node;
    node.meta.name = "node-1";
    world.put(api::Kind::Node, node);
    api::DeviceClass gpu;
    gpu.meta.name = "gpu.example.com";
    world.put(api::Kind::DeviceClass, gpu);
  }
  static api::ResourceSlice slice(int devices) {
    api::ResourceSlice slice;
    slice.meta.name = "slice";
    slice.driver = "gpu.example.com";
    slice.pool = "node-1";
    slice.slice_count = 1;
    slice.node_name = "node-1";
    for (int i = 0; i < devices; ++i) slice.devices.emplace_back().name = "gpu-" + std::to_string(i);
    return slice;
  }
  ClaimPtr claim(const std::string& name, int count, const std::string& selector = "",
                 const std::string& taken = "") {
    api::ResourceClaim claim;
    claim.meta.name = name;
    claim.meta.ns = "default";
    claim.meta.uid = name;
    claim.requests.push_back(
        {"r", false, {{.name = "r", .device_class = "gpu.example.com", .count = count}}});
    if (!selector.empty()) claim.requests[0].alternatives[0].selectors = {selector};
    if (!taken.empty()) {
      claim.allocation.emplace();
      claim.allocation->results.push_back(
          {.request = "r", .driver = "gpu.example.com", .pool = "node-1", .device = taken});
    }
    world.put(api::Kind::ResourceClaim, claim);
    return world.view.claims.find_shared("default", name);
  }
  AllocationVerdict allocate(const ClaimPtr& wanted) {
    const auto compiled = allocator.prepare(std::span(&wanted, 1));
    if (!compiled) return AllocationError{compiled.error().text()};
    return allocator.allocate(**compiled, world.cluster.find_node("node-1"));
  }
  static std::string text(const AllocationVerdict& verdict) {
    if (const auto* no = std::get_if<Impossible>(&verdict)) return no->reason;
    if (const auto* failed = std::get_if<AllocationError>(&verdict)) return "failed: " + failed->error;
    if (std::holds_alternative<OutOfBudget>(verdict)) return "out of budget";
    std::string names;
    for (const ClaimResult& claim : std::get<Allocations>(verdict).claims)
      for (const api::DeviceResult& result : claim.allocation->results)
        names += (names.empty() ? "" : " ") + result.device;
    return names;
  }

  TestWorld world;
  PlainSelectors selectors;
  SeededRandom random{1};
  Allocator allocator{world.cluster, selectors, random, [] {
                        DeviceGates on;
                        on.compatibility_groups = on.compatibility_group_snapshot = true;
                        return on;
                      }()};
};

TEST_F(AllocatorTest, TakesTheFirstDevicesAndSaysHowManyAreMissing) {
  world.put(api::Kind::ResourceSlice, slice(3));
  EXPECT_EQ(text(allocate(claim("two", 2))), "gpu-0 gpu-1");
  claim("a", 1, "", "gpu-0");
  claim("b", 1, "", "gpu-1");
  EXPECT_EQ(text(allocate(claim("again", 2))),
            "needs 2 devices of class gpu.example.com, 1 is free (gpu-0, gpu-1 taken)");
  EXPECT_EQ(text(allocate(claim("none", 1, "false"))),
            "3 devices on node-1 are of class gpu.example.com; selector #0 of request r refuses all of them");
  EXPECT_EQ(
      text(allocate(claim("error", 1, "error"))),
      "failed: claim default/error: selector #0 on device gpu.example.com/node-1/gpu-2: CEL runtime error: "
      "made to fail");
}

TEST_F(AllocatorTest, SeesWhatEarlierMembersOfTheTransactionTook) {
  world.put(api::Kind::ResourceSlice, slice(2));
  api::Pod pod;
  pod.meta.name = "p";
  pod.meta.ns = "default";
  pod.meta.uid = "p";
  world.put(api::Kind::Pod, pod);
  const ClaimPtr first = claim("first", 1), second = claim("second", 1);
  model::Ledger::Transaction transaction(world.cluster.ledger());
  const AllocationVerdict verdict = allocate(first);
  EXPECT_EQ(text(verdict), "gpu-0");
  transaction.allocate(world.cluster.find_claim("default", "first"),
                       world.cluster.reservation_for(std::get<Allocations>(verdict).claims[0].allocation));
  const auto compiled = allocator.prepare(std::span(&second, 1));
  EXPECT_EQ(text(allocator.allocate(**compiled, world.cluster.find_node("node-1"))), "gpu-1");
  transaction.roll_back_to({0, 0});
  EXPECT_EQ(text(allocator.allocate(**compiled, world.cluster.find_node("node-1"))), "gpu-0");
}

TEST_F(AllocatorTest, ADeviceThatTakesOfItsNodeIsChosenLikeAnyOther) {
  api::ResourceSlice two = slice(2);
  two.devices[0].node_allocatable["cpu"].mapping = {"", Quantity::of(1)};
  world.put(api::Kind::ResourceSlice, two);
  for (const bool gate : {false, true}) {
    DeviceGates gates;
    gates.node_allocatable_resources = gate;
    Allocator whichever(world.cluster, selectors, random, gates);
    const ClaimPtr both = claim("both", 2);
    const auto compiled = whichever.prepare(std::span(&both, 1));
    EXPECT_EQ(text(whichever.allocate(**compiled, world.cluster.find_node("node-1"))), "gpu-0 gpu-1")
        << "whether the node has room is for the caller to ask";
  }
}

TEST_F(AllocatorTest, WithTheGateOffRecordedGroupsStillHoldTheirCounterSet) {
  api::ResourceSlice counters = slice(0), devices = slice(2);
  counters.meta.name = "counters";
  counters.slice_count = devices.slice_count = 2;
  counters.shared_counters.push_back({"set", {{"memory", Quantity::of(80)}}});
  for (api::Device& device : devices.devices)  // the driver removed the groups after the downgrade
    device.consumes.push_back({"set", {{"memory", Quantity::of(20)}}, {}});
  world.put(api::Kind::ResourceSlice, counters);
  world.put(api::Kind::ResourceSlice, devices);
  api::ResourceClaim held = *claim("held", 1, "", "gpu-0");
  held.allocation->results[0].groups["set"] = {"mig"};
  world.put(api::Kind::ResourceClaim, held);
  Allocator off(world.cluster, selectors, random, DeviceGates{});
  const ClaimPtr next = claim("next", 1);
  const std::string why =
      text(off.allocate(**off.prepare(std::span(&next, 1)), world.cluster.find_node("node-1")));
  EXPECT_NE(why.find("gpu-1: counter set set on node-1 holds group mig; the device offers no group"),
            std::string::npos)
      << why;
}

TEST_F(AllocatorTest, AVgpuWaitsForTheMigPartition) {
  api::ResourceSlice counters = slice(0), devices = slice(2);
  counters.meta.name = "counters";
  counters.slice_count = devices.slice_count = 2;
  counters.shared_counters.push_back({"gpu-0-counters", {{"memory", Quantity::of(80)}}});
  devices.devices[0].consumes.push_back({"gpu-0-counters", {{"memory", Quantity::of(10)}}, {"mig"}});
  devices.devices[1].consumes.push_back({"gpu-0-counters", {{"memory", Quantity::of(10)}}, {"vgpu"}});
  devices.devices[1].attributes["vgpu"] = true;
  world.put(api::Kind::ResourceSlice, counters);
  world.put(api::Kind::ResourceSlice, devices);
  const AllocationVerdict snapshot = allocate(claim("mig", 1));
  EXPECT_EQ(std::get<Allocations>(snapshot).claims[0].allocation->results[0].groups.at("gpu-0-counters"),
            std::vector<std::string>{"mig"});
  claim("held", 1, "", "gpu-0");
  EXPECT_EQ(text(allocate(claim("vgpu", 1, "has vgpu"))),
            "counter set gpu-0-counters on node-1 holds group mig; the device offers vgpu");
  world.erase(api::Kind::ResourceClaim, "default", "held");
  EXPECT_EQ(text(allocate(claim("later", 1, "has vgpu"))), "gpu-1");
}

TEST_F(AllocatorTest, TheSnapshotOfAnAllocatedDeviceStandsAboveItsSlice) {
  api::ResourceSlice counters = slice(0), devices = slice(2);
  counters.meta.name = "counters";
  counters.slice_count = devices.slice_count = 2;
  counters.shared_counters.push_back({"set", {{"m", Quantity::of(9)}}});
  devices.devices[0].consumes.push_back({"set", {{"m", Quantity::of(1)}}, {"new"}});
  devices.devices[1].consumes.push_back({"set", {{"m", Quantity::of(1)}}, {"new"}});
  world.put(api::Kind::ResourceSlice, counters);
  world.put(api::Kind::ResourceSlice, devices);
  api::ResourceClaim held = *claim("held", 1, "", "gpu-0");
  EXPECT_EQ(text(allocate(claim("fits", 1))), "gpu-1");
  held.allocation->results[0].groups["set"] = {"old"};
  world.put(api::Kind::ResourceClaim, held);
  EXPECT_EQ(
      text(allocate(claim("waits", 1))),
      "needs 1 device of class gpu.example.com, 0 are free (gpu-0 taken); gpu-1: counter set set on node-1 "
      "holds group old; the device offers new");
}

TEST_F(AllocatorTest, DevicesWithBindingConditionsComeLastAlsoInsideAPool) {
  api::ResourceSlice devices = slice(2);
  devices.devices[0].binding_conditions = {"Attached"};
  devices.devices[0].binding_failure_conditions = {"Failed"};
  world.put(api::Kind::ResourceSlice, devices);
  EXPECT_EQ(text(allocate(claim("one", 1))), "gpu-1");
  const AllocationVerdict both = allocate(claim("both", 2));
  EXPECT_EQ(text(both), "gpu-1 gpu-0");
  EXPECT_EQ(std::get<Allocations>(both).claims[0].allocation->results[1].binding_conditions,
            std::vector<std::string>{"Attached"});
}

TEST_F(AllocatorTest, RunningOutOfStepsIsNotANo) {
  world.put(api::Kind::ResourceSlice, slice(16));
  allocator.set_steps_max(5);
  EXPECT_EQ(text(allocate(claim("many", 8))), "out of budget");
}

// 8 x 8 kinds of two devices: three of one row are many, three of one column too, but three of both are
// nowhere. What counts one constraint does not show that.
class HardSearch : public AllocatorTest {
 protected:
  HardSearch() {
    constexpr int kDevices = 128, kRows = 8;
    api::ResourceSlice grid = slice(kDevices);
    for (int i = 0; i < kDevices; ++i) {
      grid.devices[static_cast<std::size_t>(i)].attributes["row"] = std::int64_t{i / 2 % kRows};
      grid.devices[static_cast<std::size_t>(i)].attributes["column"] = std::int64_t{i / 2 / kRows};
    }
    world.put(api::Kind::ResourceSlice, grid);
  }
  // `copies` of each of its constraints.
  ClaimPtr three_alike(int copies) {
    api::ResourceClaim wanted = *claim("alike" + std::to_string(copies), 3);
    for (int i = 0; i < copies; ++i)
      for (const char* attribute : {"row", "column"})
        wanted.constraints.push_back({{"r"}, std::string("gpu.example.com/") + attribute, ""});
    return std::make_shared<const api::ResourceClaim>(std::move(wanted));
  }
};

TEST_F(HardSearch, AStepCountsTheConstraintsOfItsClaim) {
  EXPECT_NE(text(allocate(three_alike(1))), "out of budget");
  const std::size_t steps = allocator.latest_steps();
  EXPECT_NE(text(allocate(three_alike(10))), "out of budget");
  EXPECT_GE(allocator.latest_steps(), 4 * steps) << "of " << steps;
}

TEST_F(HardSearch, SearchesOfOneDecisionShareTheirSteps) {
  constexpr std::size_t kStepsOfAll = 200, kNodes = 40,
                        kPlain = kPlainStepsPerDevice * (3 + kPlainDevicesMore);
  const ClaimPtr wanted = three_alike(1);
  ASSERT_NE(text(allocate(wanted)), "out of budget");
  ASSERT_GT(allocator.latest_steps(), kStepsOfAll / 2);
  allocator.begin_decision(kStepsOfAll);
  std::size_t steps = 0;
  for (std::size_t i = 0; i < kNodes; ++i) {
    EXPECT_EQ(text(allocate(wanted)), "out of budget");
    steps += allocator.latest_steps();
  }
  EXPECT_LE(steps, kStepsOfAll + kNodes * (kPlain + 1));
  EXPECT_EQ(text(allocate(claim("easy", 2))), "gpu-0 gpu-1");
  allocator.begin_decision();
  EXPECT_NE(text(allocate(wanted)), "out of budget");
}

// Different partitions that draw much of one counter and little of another: each counter alone suffices, both
// together do not. A search would try all subsets.
TEST_F(AllocatorTest, SeveralScarceCountersAreWeighedTogether) {
  struct Row {
    int devices, wanted, pairs, slack;
    const char* want;
  };
  const Row rows[] = {
      {12, 6, 1, -1, "no"},  {24, 12, 1, -1, "no"}, {64, 32, 1, -1, "no"},   {64, 32, 2, -1, "no"},
      {60, 20, 4, -1, "no"}, {12, 6, 1, 0, "yes"},  {64, 32, 1, 400, "yes"},
  };
  for (const auto& [devices, wanted, pairs, slack, want] : rows) {
    api::ResourceSlice sets = slice(0), partitions = slice(devices);
    sets.meta.name = "counters";
    sets.slice_count = partitions.slice_count = 2;
    api::CounterSet& set = sets.shared_counters.emplace_back();
    set.name = "set";
    const int both = 199 + devices;  // what a device draws of the two counters of a pair
    for (int pair = 0; pair < pairs; ++pair) {
      const std::string one = "a" + std::to_string(pair), other = "b" + std::to_string(pair);
      set.counters[one] = Quantity::of(both * wanted / 2 + slack);
      set.counters[other] = Quantity::of(both * wanted / 2);
      for (int i = 0; i < devices; ++i) {
        auto& consumes = partitions.devices[static_cast<std::size_t>(i)].consumes;
        if (pair == 0) consumes.emplace_back().counter_set = "set";
        const int amount = 100 + i * (2 * pair + 1) % devices;
        consumes[0].counters[one] = Quantity::of(amount);
        consumes[0].counters[other] = Quantity::of(both - amount);
      }
    }
    world.put(api::Kind::ResourceSlice, sets);
    world.put(api::Kind::ResourceSlice, partitions);
    const AllocationVerdict verdict = allocate(claim("want", wanted));
    const auto* no = std::get_if<Impossible>(&verdict);
    ASSERT_EQ(no                                             ? "no"
              : std::holds_alternative<Allocations>(verdict) ? "yes"
                                                             : "unknown",
              std::string(want))
        << wanted << " of " << devices << " on " << pairs << " pairs of counters: " << text(verdict);
    EXPECT_LE(allocator.latest_steps(), 1000u);
    if (!no) continue;
    EXPECT_EQ(no->certificate->kind, CertificateKind::Counter);
    EXPECT_EQ(no->certificate->need, Quantity::of(wanted));
    EXPECT_EQ(no->certificate->have, Quantity::of(wanted - 1));
  }
}

TEST_F(AllocatorTest, SelectorsRunOncePerSliceVersion) {
  world.put(api::Kind::ResourceSlice, slice(8));
  const ClaimPtr wanted = claim("one", 1, "true");
  EXPECT_EQ(text(allocate(wanted)), "gpu-0");
  EXPECT_EQ(text(allocate(wanted)), "gpu-0");
  EXPECT_EQ(selectors.evaluations, 8u);
  world.put(api::Kind::ResourceSlice, slice(9));
  EXPECT_EQ(text(allocate(wanted)), "gpu-0");
  EXPECT_EQ(selectors.evaluations, 17u);
}

TEST_F(AllocatorTest, EqualSpecsAndClassesShareACompiledClaim) {
  const auto shape_of = [&](const ClaimPtr& wanted) {
    return (*allocator.prepare(std::span(&wanted, 1)))->signature();
  };
  const std::uint64_t one = shape_of(claim("a", 1));
  EXPECT_NE(one, 0u);
  EXPECT_EQ(shape_of(claim("b", 1)), one);
  EXPECT_NE(shape_of(claim("c", 2)), one);
  EXPECT_NE(shape_of(claim("d", 1, "true")), one);
  const std::vector<ClaimPtr> both = {claim("a", 1), claim("b", 1)};
  EXPECT_NE((*allocator.prepare(both))->signature(), one);
  EXPECT_EQ((*allocator.prepare(both))->signature(), (*allocator.prepare(both))->signature());
  api::DeviceClass other;
  other.meta.name = "other";
  world.put(api::Kind::DeviceClass, other);
  EXPECT_EQ(shape_of(claim("e", 1)), one);
  other.meta.name = "gpu.example.com";
  world.put(api::Kind::DeviceClass, other);
  EXPECT_NE(shape_of(claim("e", 1)), one);
}

TEST_F(AllocatorTest, AnAllocationOfAllDevicesIsOutOfDateWhenMoreAreSelected) {
  world.put(api::Kind::ResourceSlice, slice(1));
  api::ResourceClaim all = *claim("all", 1);
  all.requests[0].alternatives[0].mode = api::AllocationMode::All;
  world.put(api::Kind::ResourceClaim, all);
  const ClaimPtr wanted = world.view.claims.find_shared("default", "all");
  const AllocationVerdict verdict = allocate(wanted);
  const api::Allocation chosen = *std::get<Allocations>(verdict).claims.at(0).allocation;
  const auto wants_more = [&](const ClaimPtr& of) {
    return allocator.wants_more(**allocator.prepare(std::span(&of, 1)), world.cluster.find_node("node-1"),
                                chosen);
  };
  EXPECT_FALSE(wants_more(wanted));
  world.put(api::Kind::ResourceSlice, slice(2));
  EXPECT_TRUE(wants_more(wanted));
  EXPECT_FALSE(wants_more(claim("one", 1))) << "it wants no more than one";
  api::ResourceSlice half = slice(2);
  half.slice_count = 2;
  world.put(api::Kind::ResourceSlice, half);
  EXPECT_FALSE(wants_more(wanted)) << "the pool is being updated";
}

TEST_F(AllocatorTest, TheStampOfANodeChangesWithWhatItsVerdictsDependOn) {
  const model::NodeId node = world.cluster.find_node("node-1");
  std::uint64_t last = 0;
  const auto changed = [&] {
    const std::uint64_t now = allocator.stamp(node);
    EXPECT_EQ(allocator.stamp(node), now);
    return std::exchange(last, now) != now;
  };
  EXPECT_TRUE(changed());
  world.put(api::Kind::ResourceSlice, slice(2));
  EXPECT_TRUE(changed());
  claim("a", 1);
  EXPECT_FALSE(changed());
  claim("a", 1, "", "gpu-0");
  EXPECT_TRUE(changed());
  api::ResourceSlice elsewhere = slice(1);
  elsewhere.meta.name = "elsewhere";
  elsewhere.node_name = elsewhere.pool = "node-2";
  world.put(api::Kind::ResourceSlice, elsewhere);
  EXPECT_FALSE(changed());
  elsewhere.node_name.clear();
  elsewhere.all_nodes = true;
  world.put(api::Kind::ResourceSlice, elsewhere);
  EXPECT_TRUE(changed());
  api::Node labelled;
  labelled.meta.name = "node-1";
  labelled.meta.labels["zone"] = "a";
  world.put(api::Kind::Node, labelled);
  EXPECT_TRUE(changed());
  world.erase(api::Kind::ResourceClaim, "default", "a");
  EXPECT_TRUE(changed());
}

}  // namespace
}  // namespace berth::dra
