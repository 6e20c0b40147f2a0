// Bugs that Kubernetes' allocator had, by the number of their report: none of them is here.
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
  // Puts the devices with a set of counters beside them.
  void put(api::ResourceSlice devices, std::int64_t memory) {
    api::ResourceSlice sets = devices;
    sets.meta.name = devices.driver + "-counters";
    sets.devices.clear();
    sets.shared_counters.push_back({"set", {{"m", Quantity::of(memory)}}});
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
  std::string devices_of(const api::ResourceClaim& wanted) {
    world.put(api::Kind::ResourceClaim, wanted);
    const ClaimPtr live = world.view.claims.find_shared("default", "want");
    Allocator allocator(world.cluster, selectors, random, gates);
    const auto ask = allocator.prepare(std::span(&live, 1));
    const Verdict verdict = allocator.allocate(**ask, world.cluster.find_node("n"));
    if (!std::holds_alternative<Allocations>(verdict)) return "none";
    std::string names;
    for (const auto& result : std::get<Allocations>(verdict).claims[0].allocation->results)
      names += (names.empty() ? "" : " ") + result.device;
    return names;
  }

  TestWorld world;
  PlainSelectors selectors;
  SeededRandom random{1};
  Gates gates;
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

TEST_F(KnownBugs, K138882_AllOfANodeWithoutPoolsIsNoMatch) {
  api::ResourceClaim wanted = claim(1);
  wanted.requests[0].alternatives[0].mode = api::AllocationMode::All;
  EXPECT_EQ(devices_of(wanted), "none");
}

}  // namespace
}  // namespace berth::dra
