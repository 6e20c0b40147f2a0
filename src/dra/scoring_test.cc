// The choice between several allocations: small worlds where the first allocation strands devices that the
// least fragmenting one keeps usable.
#include "dra/scoring.h"

#include <gtest/gtest.h>

#include <sstream>

#include "dra/search/branch_and_bound.h"
#include "dra/search/search.h"
#include "dra/test_world.h"

namespace berth::dra {
namespace {

TEST(ScoringNames, AreThoseOfTheTable) {
  for (const DeviceScoringName& row : kDeviceScorings) {
    EXPECT_EQ(name_of(row.scoring), row.name);
    EXPECT_EQ(device_scoring_of(row.name), row.scoring);
  }
  EXPECT_EQ(device_scoring_of("reference"), std::nullopt);
  EXPECT_EQ(device_scoring_names(), "Reference, LeastFragmenting");
}

TEST(PartOf, IsRoundedDownAndStaysInside) {
  struct Row {
    Quantity part, whole;
    Millionths want;
  };
  const Quantity huge = Quantity::nanos(__int128{1} << 110),
                 third = Quantity::nanos((__int128{1} << 110) / 3);
  const Row rows[] = {
      {Quantity::of(1), Quantity::of(3), 333333},
      {Quantity::of(3), Quantity::of(3), kWhole},
      {Quantity::of(4), Quantity::of(3), kWhole},
      {Quantity::of(1), Quantity::of(0), kWhole},
      {Quantity::of(0), Quantity::of(0), 0},
      {Quantity::of(-1), Quantity::of(3), 0},
      {third, huge, 333333},
      {Quantity::nanos(1), huge, 0},
  };
  for (const Row& row : rows)
    EXPECT_EQ(part_of(row.part, row.whole), row.want) << row.part.text() << " of " << row.whole.text();
}

class Scoring : public ::testing::Test {
 protected:
  Scoring() {
    api::Node node;
    node.meta.name = "n";
    world.put(api::Kind::Node, node);
    api::DeviceClass any;
    any.meta.name = "any";
    world.put(api::Kind::DeviceClass, any);
  }
  static api::ResourceSlice slice() {
    api::ResourceSlice made;
    made.meta.name = "devices";
    made.driver = "d";
    made.pool = "pool";
    made.generation = made.slice_count = 1;
    made.node_name = "n";
    return made;
  }
  // "gpu-0-2@4": of the GPU's eight slices, the two from the fourth on. `kind`s are attributes to select by.
  static void add_partition(api::ResourceSlice& to, int gpu, int size, int at) {
    api::Device& device = to.devices.emplace_back();
    device.name = "gpu-" + std::to_string(gpu) + "-" + std::to_string(size) + "-" + std::to_string(at);
    device.attributes["size-" + std::to_string(size)] = true;
    api::CounterConsumption& draws = device.consumes.emplace_back();
    draws.counter_set = "gpu-" + std::to_string(gpu);
    draws.counters["memory"] = Quantity::of(size);
    for (int i = at; i < at + size; ++i) draws.counters["slice-" + std::to_string(i)] = Quantity::of(1);
  }
  void put(api::ResourceSlice devices, int gpus) {
    api::ResourceSlice sets = slice();
    sets.meta.name = "counters";
    for (int gpu = 0; gpu < gpus; ++gpu) {
      api::CounterSet& set = sets.shared_counters.emplace_back();
      set.name = "gpu-" + std::to_string(gpu);
      set.counters["memory"] = Quantity::of(8);
      for (int i = 0; i < 8; ++i) set.counters["slice-" + std::to_string(i)] = Quantity::of(1);
    }
    sets.slice_count = devices.slice_count = 2;
    world.put(api::Kind::ResourceSlice, sets);
    world.put(api::Kind::ResourceSlice, devices);
  }
  // Whole GPUs and their partitions of one, two and four slices.
  void put_gpus(int gpus) {
    api::ResourceSlice devices = slice();
    for (int gpu = 0; gpu < gpus; ++gpu)
      for (const int size : {1, 2, 4, 8})
        for (int at = 0; at < 8; at += size) add_partition(devices, gpu, size, at);
    put(devices, gpus);
  }
  void hold(const std::string& device, const std::string& consumed = "") {
    api::ResourceClaim held;
    held.meta.name = held.meta.uid = "held-" + device + consumed;
    held.meta.ns = "default";
    api::DeviceResult& result = held.allocation.emplace().results.emplace_back();
    result.request = "r";
    result.driver = "d";
    result.pool = "pool";
    result.device = device;
    if (!consumed.empty()) {
      result.share_id = "11111111-1111-1111-1111-111111111111";
      result.consumed_capacity["mem"] = *parse_quantity(consumed);
    }
    world.put(api::Kind::ResourceClaim, held);
  }
  static api::DeviceSubRequest one(const std::string& name, const std::string& attribute = "",
                                   int count = 1) {
    api::DeviceSubRequest sub{.name = name, .device_class = "any", .count = count};
    if (!attribute.empty()) sub.selectors = {"has " + attribute};
    return sub;
  }
  static api::ResourceClaim claim(const std::vector<api::DeviceSubRequest>& requests) {
    api::ResourceClaim made;
    made.meta.name = made.meta.uid = "want";
    made.meta.ns = "default";
    for (const api::DeviceSubRequest& request : requests)
      made.requests.push_back({request.name, false, {request}});
    return made;
  }
  std::string devices_of(const api::ResourceClaim& wanted, DeviceScoring scoring) {
    world.put(api::Kind::ResourceClaim, wanted);
    const ClaimPtr live = world.view.claims.find_shared("default", "want");
    Allocator allocator(world.cluster, selectors, random, gates);
    allocator.set_scoring(scoring);
    const auto compiled = allocator.prepare(std::span(&live, 1));
    const AllocationVerdict verdict = allocator.allocate(**compiled, world.cluster.find_node("n"));
    steps = allocator.latest_steps();
    world.erase(api::Kind::ResourceClaim, "default", "want");
    if (!std::holds_alternative<Allocations>(verdict)) return "none";
    std::string names;
    for (const auto& result : std::get<Allocations>(verdict).claims[0].allocation->results)
      names += (names.empty() ? "" : " ") + result.device;
    return names;
  }
  // The choice of each scoring for `first`, and whether `then` fits afterwards.
  void expect_stranded(const api::ResourceClaim& first, const std::string& by_reference,
                       const std::string& by_least, const api::ResourceClaim& then) {
    const auto after = [&](DeviceScoring scoring, const std::string& taken) {
      EXPECT_EQ(devices_of(first, scoring), taken) << name_of(scoring);
      api::ResourceClaim held = first;
      held.meta.name = held.meta.uid = "first";
      const auto make = [&](const std::string& device) {
        api::DeviceResult result{.request = "r", .driver = "d", .pool = "pool", .device = device};
        for (const auto& [name, amount] : first.requests[0].alternatives[0].capacity) {
          result.share_id = "22222222-2222-2222-2222-222222222222";
          result.consumed_capacity[name] = amount;
        }
        return result;
      };
      held.allocation.emplace();
      std::istringstream names(taken);
      for (std::string device; names >> device;) held.allocation->results.push_back(make(device));
      world.put(api::Kind::ResourceClaim, held);
      const std::string left = devices_of(then, DeviceScoring::Reference);
      world.erase(api::Kind::ResourceClaim, "default", "first");
      return left;
    };
    EXPECT_EQ(after(DeviceScoring::Reference, by_reference), "none");
    EXPECT_NE(after(DeviceScoring::LeastFragmenting, by_least), "none");
  }

  TestWorld world;
  PlainSelectors selectors;
  SeededRandom random{1};
  DeviceGates gates;
  std::size_t steps = 0;
};

TEST_F(Scoring, APartitionGoesBesideOthersAndAWholeGpuStays) {
  put_gpus(2);
  hold("gpu-1-1-0");
  expect_stranded(claim({one("r", "size-1")}), "gpu-0-1-0", "gpu-1-1-1", claim({one("r", "size-8")}));
}

TEST_F(Scoring, APartitionGoesWhereItSpoilsTheFewestPlaces) {
  put_gpus(1);
  hold("gpu-0-1-7");
  expect_stranded(claim({one("r", "size-1")}), "gpu-0-1-0", "gpu-0-1-6", claim({one("r", "size-4")}));
}

TEST_F(Scoring, AnyDeviceMeansTheSmallest) {
  api::ResourceSlice devices = slice();
  for (const int size : {8, 4, 1})
    for (int at = 0; at < 8; at += size) add_partition(devices, 0, size, at);
  put(devices, 1);
  expect_stranded(claim({one("r")}), "gpu-0-8-0", "gpu-0-1-0", claim({one("r", "size-4")}));
}

TEST_F(Scoring, SeveralPartitionsOfOneClaimStayTogether) {
  api::ResourceSlice devices = slice();
  for (int at = 0; at < 8; ++at)
    for (int gpu = 0; gpu < 2; ++gpu) add_partition(devices, gpu, 1, at);
  for (int gpu = 0; gpu < 2; ++gpu) add_partition(devices, gpu, 8, 0);
  put(devices, 2);
  expect_stranded(claim({one("r", "size-1", 3)}), "gpu-0-1-0 gpu-1-1-0 gpu-0-1-1",
                  "gpu-0-1-0 gpu-0-1-1 gpu-0-1-2", claim({one("r", "size-8")}));
}

TEST_F(Scoring, AShareGoesWhereItFitsTightly) {
  api::ResourceSlice devices = slice();
  for (const char* name : {"a", "b", "c"}) {
    api::Device& device = devices.devices.emplace_back();
    device.name = name;
    device.allow_multiple = true;
    device.capacity["mem"].value = Quantity::of(10);
  }
  world.put(api::Kind::ResourceSlice, devices);
  hold("b", "3");
  hold("c", "6");
  api::ResourceClaim four = claim({one("r")}), ten = claim({one("r")});
  four.requests[0].alternatives[0].capacity["mem"] = Quantity::of(4);
  ten.requests[0].alternatives[0].capacity["mem"] = Quantity::of(10);
  expect_stranded(four, "a", "c", ten);
}

TEST_F(Scoring, AGroupGoesWhereItHoldsAlready) {
  gates.compatibility_groups = true;
  api::ResourceSlice devices = slice();
  for (const char* group : {"mig", "vgpu"})
    for (int gpu = 0; gpu < 2; ++gpu)
      for (int at = 0; at < 2; ++at) {
        add_partition(devices, gpu, 1, at + (group[0] == 'v' ? 2 : 0));
        devices.devices.back().attributes[group] = true;
        devices.devices.back().consumes[0].groups = {group};
      }
  put(devices, 2);
  hold("gpu-1-1-0");
  expect_stranded(claim({one("r", "mig")}), "gpu-0-1-0", "gpu-1-1-1", claim({one("r", "vgpu")}));
}

// A share of a device without capacities costs nothing; still no unused device is chosen for it.
TEST_F(Scoring, AShareWithoutCapacityGoesToADeviceInUse) {
  api::ResourceSlice devices = slice();
  for (const char* name : {"a", "b"}) {
    devices.devices.emplace_back().name = name;
    devices.devices.back().allow_multiple = true;
  }
  world.put(api::Kind::ResourceSlice, devices);
  hold("b", "0");
  EXPECT_EQ(devices_of(claim({one("r")}), DeviceScoring::LeastFragmenting), "b");
  EXPECT_EQ(devices_of(claim({one("r")}), DeviceScoring::Reference), "a");
}

TEST_F(Scoring, TheOrderOfAlternativesIsTheUsers) {
  put_gpus(1);
  api::ResourceClaim wanted = claim({one("r")});
  wanted.requests[0] = {"r", true, {one("large", "size-4"), one("small", "size-1")}};
  EXPECT_EQ(devices_of(wanted, DeviceScoring::LeastFragmenting), "gpu-0-4-0");
}

TEST_F(Scoring, ReadyDevicesComeBeforeFittingOnes) {
  api::ResourceSlice devices = slice();
  add_partition(devices, 0, 8, 0);
  add_partition(devices, 0, 1, 0);
  devices.devices.back().binding_conditions = {"Ready"};
  put(devices, 1);
  EXPECT_EQ(devices_of(claim({one("r")}), DeviceScoring::LeastFragmenting), "gpu-0-8-0");
}

TEST_F(Scoring, EquallyGoodOnesAreTakenInTheReferencesOrder) {
  put_gpus(2);
  for (const char* attribute : {"size-8", "size-4", "size-1", ""})
    EXPECT_EQ(devices_of(claim({one("r", attribute)}), DeviceScoring::LeastFragmenting).substr(0, 5),
              "gpu-0");
}

// A negative draw makes the order of allocations matter: the reference's first allocation is kept.
TEST_F(Scoring, APoolWithAGiverKeepsTheReferencesChoice) {
  api::ResourceSlice devices = slice();
  for (const int size : {8, 1, 1}) add_partition(devices, 0, size, 0);
  devices.devices.back().name = "giver";
  devices.devices.back().consumes[0].counters["memory"] = Quantity::of(-1);
  put(devices, 1);
  EXPECT_EQ(devices_of(claim({one("r", "size-1")}), DeviceScoring::LeastFragmenting), "gpu-0-1-0");
  EXPECT_EQ(devices_of(claim({one("r")}), DeviceScoring::LeastFragmenting), "gpu-0-8-0");
}

// Sixteen of 64 partitions: far more allocations than are compared. The best so far is valid, deterministic,
// and here uses as few GPUs as possible.
TEST_F(Scoring, EndsWithTheBestSoFar) {
  api::ResourceSlice devices = slice();
  for (int at = 0; at < 8; ++at)
    for (int gpu = 0; gpu < 8; ++gpu) add_partition(devices, gpu, 1, at);
  for (int gpu = 0; gpu < 8; ++gpu)
    for (const int at : {0, 4}) add_partition(devices, gpu, 4, at);
  for (int gpu = 0; gpu < 8; ++gpu) add_partition(devices, gpu, 8, 0);
  put(devices, 8);
  const api::ResourceClaim wanted = claim({one("r", "size-1", 16)});
  const std::string taken = devices_of(wanted, DeviceScoring::LeastFragmenting);
  EXPECT_NE(devices_of(wanted, DeviceScoring::Reference).find("gpu-7"), std::string::npos);
  for (int gpu = 2; gpu < 8; ++gpu)
    EXPECT_EQ(taken.find("gpu-" + std::to_string(gpu)), std::string::npos) << taken;
  EXPECT_EQ(devices_of(wanted, DeviceScoring::LeastFragmenting), taken);
  EXPECT_GE(steps, kScoringTriesMax);
  EXPECT_LE(steps, kScoringTriesMax + 2 * 16 * kPlainStepsPerDevice + 128);
}

}  // namespace
}  // namespace berth::dra
