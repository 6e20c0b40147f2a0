// Bugs of Kubernetes' allocator, by the number of their report: Berth has none of them.
#include <gtest/gtest.h>

#include "dra/test_world.h"

namespace berth::dra {
namespace {

class KnownBugs : public ::testing::Test {
 protected:
  KnownBugs() {
    api::Node node;
    node.meta.name = "n";
    world.put(api::Kind::Node, node);
    api::DeviceClass any;
    any.meta.name = "any";
    world.put(api::Kind::DeviceClass, any);
    gates.list_attributes = true;
  }
  static api::ResourceSlice slice(const std::string& driver, const std::vector<std::string>& devices) {
    api::ResourceSlice made;
    made.meta.name = driver + "-devices";
    made.driver = driver;
    made.pool = "pool";
    made.generation = made.slice_count = 1;
    made.node_name = "n";
    for (const std::string& name : devices) made.devices.emplace_back().name = name;
    return made;
  }
  // Adds the devices and a counter set for them.
  void put(api::ResourceSlice devices, std::int64_t memory) { put(std::move(devices), Quantity::of(memory)); }
  void put(api::ResourceSlice devices, Quantity memory) {
    api::ResourceSlice sets = devices;
    sets.meta.name = devices.driver + "-counters";
    sets.devices.clear();
    sets.shared_counters.push_back({"set", {{"m", memory}}});
    sets.slice_count = devices.slice_count = 2;
    world.put(api::Kind::ResourceSlice, sets);
    world.put(api::Kind::ResourceSlice, devices);
  }
  static api::CounterConsumption draws(std::int64_t memory) {
    return {"set", {{"m", Quantity::of(memory)}}, {}};
  }
  static api::ResourceClaim claim(int requests) {
    api::ResourceClaim made;
    made.meta.name = made.meta.uid = "want";
    made.meta.ns = "default";
    for (int r = 0; r < requests; ++r) {
      const std::string name = "r" + std::to_string(r);
      made.requests.push_back({name, false, {{.name = name, .device_class = "any"}}});
    }
    return made;
  }
  void hold(const std::string& driver, const std::string& device, const std::string& share = "") {
    api::ResourceClaim held;
    held.meta.name = held.meta.uid = "held-" + driver + device;
    held.meta.ns = "default";
    held.allocation.emplace();
    held.allocation->results.push_back(
        {.request = "r", .driver = driver, .pool = "pool", .device = device, .share_id = share});
    world.put(api::Kind::ResourceClaim, held);
  }
  AllocationVerdict verdict_on(const api::ResourceClaim& wanted) {
    world.put(api::Kind::ResourceClaim, wanted);
    const ClaimPtr live = world.view.claims.find_shared("default", "want");
    Allocator allocator(world.cluster, selectors, random, gates);
    const auto compiled = allocator.prepare(std::span(&live, 1));
    return allocator.allocate(**compiled, world.cluster.find_node("n"));
  }
  Json config_for(const api::ResourceClaim& wanted) {
    return std::get<Allocations>(verdict_on(wanted)).claims[0].allocation->config;
  }
  std::string devices_of(const api::ResourceClaim& wanted) {
    const AllocationVerdict verdict = verdict_on(wanted);
    if (std::holds_alternative<AllocationError>(verdict)) return "error";
    if (!std::holds_alternative<Allocations>(verdict)) return "none";
    std::string names;
    for (const auto& result : std::get<Allocations>(verdict).claims[0].allocation->results)
      names += (names.empty() ? "" : " ") + result.device;
    return names;
  }

  TestWorld world;
  PlainSelectors selectors;
  SeededRandom random{1};
  DeviceGates gates;
};

TEST_F(KnownBugs, K140300_AListIntersectionIsRestoredOnTheWayBack) {
  api::ResourceSlice devices = slice("d", {"a", "b", "c"});
  devices.devices[0].attributes["links"] = std::vector<std::string>{"x", "y"};
  devices.devices[1].attributes["links"] = std::vector<std::string>{"x"};
  devices.devices[2].attributes["links"] = std::vector<std::string>{"y"};
  world.put(api::Kind::ResourceSlice, devices);
  api::ResourceClaim wanted = claim(2);
  wanted.constraints.push_back({{}, "d/links", ""});
  wanted.constraints.push_back({{"r1"}, "", "d/links"});
  wanted.requests[1].alternatives[0].selectors = {"has only"};
  devices.devices[2].attributes["only"] = true;
  world.put(api::Kind::ResourceSlice, devices);
  EXPECT_EQ(devices_of(wanted), "a c");
  wanted.requests.insert(wanted.requests.begin() + 1, claim(1).requests[0]);
  wanted.requests[1].name = wanted.requests[1].alternatives[0].name = "middle";
  EXPECT_EQ(devices_of(wanted), "none");
}

TEST_F(KnownBugs, K140431_ACounterIsGivenBackWhenATaintRefuses) {
  api::ResourceSlice devices = slice("d", {"tainted", "plain"});
  for (api::Device& device : devices.devices) device.consumes.push_back(draws(2));
  devices.devices[0].taints.push_back({"t", "", "NoSchedule", {}});
  put(devices, 3);
  EXPECT_EQ(devices_of(claim(1)), "plain");
}

TEST_F(KnownBugs, K140434_CountersBelongToDriverAndPool) {
  api::ResourceSlice one = slice("d1", {"a"}), other = slice("d2", {"b"});
  one.devices[0].consumes.push_back(draws(2));
  other.devices[0].consumes.push_back(draws(2));
  put(one, 2);
  put(other, 2);
  EXPECT_EQ(devices_of(claim(2)), "a b");
}

TEST_F(KnownBugs, K139034_K140433_AShareWithoutCapacityDrawsItsCountersOnce) {
  api::ResourceSlice devices = slice("d", {"shared", "other"});
  devices.devices[0].allow_multiple = true;
  for (api::Device& device : devices.devices) device.consumes.push_back(draws(2));
  put(devices, 3);
  hold("d", "shared", "11111111-1111-1111-1111-111111111111");
  EXPECT_EQ(devices_of(claim(1)), "shared");
  EXPECT_EQ(devices_of(claim(2)), "shared shared");
}

// The same without a share before: the first share of this very allocation draws.
TEST_F(KnownBugs, K140436_SharesOfOneAllocationDrawOnce) {
  api::ResourceSlice devices = slice("d", {"shared", "other"});
  devices.devices[0].allow_multiple = true;
  devices.devices[0].consumes.push_back(draws(2));
  devices.devices[1].consumes.push_back(draws(1));
  devices.devices[1].attributes["other"] = true;
  put(devices, 3);
  api::ResourceClaim wanted = claim(3);
  wanted.requests[2].alternatives[0].selectors = {"has other"};
  EXPECT_EQ(devices_of(wanted), "shared shared other");
}

TEST_F(KnownBugs, K140431_ACounterIsGivenBackWhenAConstraintRefuses) {
  api::ResourceSlice devices = slice("d", {"a", "b", "c"});
  const int numa[] = {0, 1, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    devices.devices[i].consumes.push_back(draws(2));
    devices.devices[i].attributes["numa"] = std::int64_t{numa[i]};
  }
  put(devices, 4);
  api::ResourceClaim wanted = claim(2);
  wanted.constraints.push_back({{}, "d/numa", ""});
  EXPECT_EQ(devices_of(wanted), "a c");
}

// The next decision sees what a decision reserved, before any object is written: in the transaction, as an
// assumption, and no longer when the decision is forgotten.
TEST_F(KnownBugs, K133602_K136269_K133586_ADeviceInFlightIsNotGivenTwice) {
  world.put(api::Kind::ResourceSlice, slice("d", {"a", "b"}));
  api::Pod pod;
  pod.meta.name = pod.meta.uid = "p";
  pod.meta.ns = "default";
  world.put(api::Kind::Pod, pod);
  api::ResourceClaim first = claim(1);
  first.meta.name = first.meta.uid = "first";
  world.put(api::Kind::ResourceClaim, first);
  world.put(api::Kind::ResourceClaim, claim(1));
  const ClaimPtr one = world.view.claims.find_shared("default", "first"),
                 other = world.view.claims.find_shared("default", "want");
  Allocator allocator(world.cluster, selectors, random, gates);
  const auto take = [&](const ClaimPtr& wanted) {
    return allocator.allocate(**allocator.prepare(std::span(&wanted, 1)), world.cluster.find_node("n"));
  };
  const auto device = [&] {
    return std::get<Allocations>(take(other)).claims[0].allocation->results[0].device;
  };
  {
    model::Ledger::Transaction transaction(world.cluster.ledger());
    const auto allocation = std::get<Allocations>(take(one)).claims[0].allocation;
    EXPECT_EQ(allocation->results[0].device, "a");
    transaction.allocate(world.cluster.find_claim("default", "first"),
                         world.cluster.reservation_for(allocation));
    EXPECT_EQ(device(), "b");
    const model::Reservation reserved{{{"c", world.cluster.find_claim("default", "first"), allocation}}};
    transaction.place(world.cluster.find_pod("default", "p"), world.cluster.find_node("n"), {},
                      std::make_shared<const model::Reservation>(reserved));
    world.cluster.commit(transaction, "decision");
  }
  EXPECT_EQ(device(), "b");
  world.cluster.forget("decision");
  EXPECT_EQ(device(), "a");
}

// Counters belong to the generation that each node sees, also with one allocator for both nodes.
TEST_F(KnownBugs, K140434_CountersBelongToTheGenerationOfTheNode) {
  api::Node second;
  second.meta.name = "m";
  world.put(api::Kind::Node, second);
  for (const auto& [node, generation] : {std::pair("n", 1), std::pair("m", 2)}) {
    api::ResourceSlice devices = slice("d", {"a"});
    devices.node_name = node;
    devices.generation = generation;
    devices.devices[0].consumes.push_back(draws(2));
    api::ResourceSlice sets = devices;
    sets.devices.clear();
    sets.shared_counters.push_back({"set", {{"m", Quantity::of(generation)}}});
    sets.meta.name = std::string("counters-") + node;
    devices.meta.name = std::string("devices-") + node;
    sets.slice_count = devices.slice_count = 2;
    world.put(api::Kind::ResourceSlice, sets);
    world.put(api::Kind::ResourceSlice, devices);
  }
  world.put(api::Kind::ResourceClaim, claim(1));
  const ClaimPtr wanted = world.view.claims.find_shared("default", "want");
  for (const bool small_first : {true, false}) {
    Allocator allocator(world.cluster, selectors, random, gates);
    for (const bool small : {small_first, !small_first}) {
      const AllocationVerdict verdict = allocator.allocate(**allocator.prepare(std::span(&wanted, 1)),
                                                           world.cluster.find_node(small ? "n" : "m"));
      EXPECT_EQ(std::holds_alternative<Impossible>(verdict), small);
    }
  }
}

Json config_of(const std::string& text, const std::vector<std::string>& requests) {
  Json config = Json::object({{"opaque", Json::object({{"driver", "d"}, {"parameters", text}})}});
  JsonArray names;
  for (const std::string& name : requests) names.emplace_back(name);
  if (!requests.empty()) config["requests"] = std::move(names);
  return config;
}

TEST_F(KnownBugs, K135074_K139730_AClassOfTwoRequestsIsConfiguredOnce) {
  world.put(api::Kind::ResourceSlice, slice("d", {"a", "b", "c"}));
  api::DeviceClass other;
  other.meta.name = "other";
  other.config = JsonArray{config_of("of other", {})};
  world.put(api::Kind::DeviceClass, other);
  api::ResourceClaim wanted = claim(3);
  for (const std::size_t r : {0, 2}) wanted.requests[r].alternatives[0].device_class = "other";
  const Json config = config_for(wanted);
  ASSERT_EQ(config.as_array().size(), 1u);
  EXPECT_EQ(berth::to_string(config.as_array()[0].items_at("requests")), R"(["r0","r2"])");
}

TEST_F(KnownBugs, K139166_TheConfigOfAnAlternativeStaysWithIt) {
  world.put(api::Kind::ResourceSlice, slice("d", {"a", "b"}));
  api::ResourceClaim wanted = claim(2);
  wanted.requests[0].prioritized = true;
  wanted.requests[0].alternatives = {{.name = "large", .device_class = "any", .selectors = {"has none"}},
                                     {.name = "small", .device_class = "any"}};
  wanted.config = JsonArray{config_of("large", {"r0/large"}), config_of("small", {"r0/small"}),
                            config_of("both", {"r0"}), config_of("all", {})};
  std::string kept;
  const Json config = config_for(wanted);
  for (const Json& entry : config.as_array())
    kept += std::string(entry.part("opaque").string_at("parameters")) + " " +
            berth::to_string(entry.items_at("requests")) + "; ";
  EXPECT_EQ(kept, R"(small ["r0/small"]; both ["r0"]; all []; )");
}

// The reference's scoring failed on claims without an allocation. A pod's allocated claims are no part of the
// allocation request here, whichever scoring is used.
TEST_F(KnownBugs, K139016_K139017_AllocatedClaimsBesideOthers) {
  world.put(api::Kind::ResourceSlice, slice("d", {"a", "b"}));
  hold("d", "a");
  api::ResourceClaim wanted = claim(1);
  world.put(api::Kind::ResourceClaim, wanted);
  api::Pod pod;
  pod.meta.name = pod.meta.uid = "p";
  pod.meta.ns = "default";
  for (const char* name : {"held-da", "want"}) {
    api::PodClaim& named = pod.claims.emplace_back();
    named.name = name;
    named.claim_name = name;
  }
  const std::vector<ClaimPtr> claims = world.unallocated_claims(pod);
  ASSERT_EQ(claims.size(), 1u);
  for (const DeviceScoringName& row : kDeviceScorings) {
    Allocator allocator(world.cluster, selectors, random, gates);
    allocator.set_scoring(row.scoring);
    const AllocationVerdict verdict =
        allocator.allocate(**allocator.prepare(claims), world.cluster.find_node("n"));
    EXPECT_EQ(std::get<Allocations>(verdict).claims[0].allocation->results[0].device, "b");
  }
}

// An allocation has room for one term: such a device is left out, and the attempt continues.
TEST_F(KnownBugs, K141212_K141213_K141214_K141338_ANodeSelectorOfSeveralTermsIsNoEnd) {
  const auto term = [](const char* label) {
    return api::NodeSelectorTerm{{{label, "DoesNotExist", {}}}, {}};
  };
  api::ResourceSlice devices = slice("d", {"several", "one"});
  devices.node_name.clear();
  devices.per_device_node_selection = true;
  devices.devices[0].node_selector = api::NodeSelector{{term("x"), term("y")}};
  devices.devices[1].node_selector = api::NodeSelector{{term("x")}};
  world.put(api::Kind::ResourceSlice, devices);
  EXPECT_EQ(devices_of(claim(1)), "one");
  EXPECT_EQ(devices_of(claim(2)), "none");
  devices.devices[0].binds_to_node = true;  // then the allocation holds the node's name
  world.put(api::Kind::ResourceSlice, devices);
  EXPECT_EQ(devices_of(claim(2)), "several one");
}

TEST_F(KnownBugs, K110653_SignsOfAmounts) {
  struct Row {
    const char *declared, *drawn, *want;
  };
  const Row rows[] = {
      {"0", "-0", "a b"},   {"0", "1n", "none"},  {"1n", "1n", "none"},    {"2n", "1n", "a b"},
      {"-1m", "0", "none"}, {"1", "500m", "a b"}, {"999m", "0.5", "none"}, {"-0", "0", "a b"},
  };
  for (const Row& row : rows) {
    api::ResourceSlice devices = slice("d", {"a", "b"});
    for (api::Device& device : devices.devices)
      device.consumes.push_back({"set", {{"m", *parse_quantity(row.drawn)}}, {}});
    put(devices, *parse_quantity(row.declared));
    EXPECT_EQ(devices_of(claim(2)), row.want) << row.declared << " for " << row.drawn;
  }
  api::ResourceClaim wanted = claim(1);
  wanted.requests[0].alternatives[0].capacity["mem"] = *parse_quantity("-1m");
  api::ResourceSlice devices = slice("e", {"a"});
  devices.devices[0].capacity["mem"].value = Quantity::of(1);
  world.put(api::Kind::ResourceSlice, devices);
  EXPECT_EQ(devices_of(wanted), "error");
}

TEST_F(KnownBugs, K138882_AllOfANodeWithoutPoolsIsNoMatch) {
  api::ResourceClaim wanted = claim(1);
  wanted.requests[0].alternatives[0].mode = api::AllocationMode::All;
  EXPECT_EQ(devices_of(wanted), "none");
}

}  // namespace
}  // namespace berth::dra
