// The judge of members counted by free devices, kept from decision to decision: a count of every domain by
// new eyes, after any sequence of changes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "placement/groups/group_fit.h"
#include "placement/plugin_bench.h"

namespace berth::placement {
namespace {

constexpr int kCountedNodes = 6, kCountedRacks = 3, kDevicesOfANode = 3, kHolders = 8;

std::string slice_text(const std::string& name, const std::string& place, int devices, int gpus) {
  std::string list;
  for (int i = 0; i < devices; ++i)
    list += std::string(i == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(i) +
            R"(","attributes":{"kind":{"string":")" + (i < gpus ? "gpu" : "nic") + R"("}}})";
  return R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"x.example.com",)" + place +
         R"(,"pool":{"name":")" + name + R"(","generation":1,"resourceSliceCount":1},"devices":[)" + list +
         "]}}";
}

class CountedWorld {
 public:
  explicit CountedWorld(std::string of_members) : device_class(std::move(of_members)) {
    for (int i = 0; i < kCountedNodes; ++i) {
      put_counted_node(i, i % kCountedRacks);
      put_slice(i, kDevicesOfANode, 2);
    }
    for (const std::string kind : {"gpu", "any"})
      bench.put(api::Kind::DeviceClass, R"({"metadata":{"name":")" + kind +
                                            R"("},"spec":{"selectors":[{"cel":{"expression":")" +
                                            (kind == "gpu" ? "device.kind == 'gpu'" : "true") + R"("}}]}})");
    for (const std::string name : {"m0", "m1"}) {
      put_claim(name, "", 1);
      bench.put(api::Kind::Pod,
                R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u)" + name +
                    R"("},"spec":{"containers":[{"name":"c"}],"resourceClaims":[{"name":"c",)" +
                    R"("resourceClaimName":")" + name + "\"}]}}");
    }
    members = {bench.view.pods.find("ns", "m0"), bench.view.pods.find("ns", "m1")};
  }

  static std::string node_name(int i) { return "n" + std::to_string(i); }
  void put_counted_node(int i, int rack) {
    bench.put_node(node_name(i), R"("rack":"r)" + std::to_string(rack) + "\"");
  }
  void put_slice(int i, int devices, int gpus) {
    bench.put(api::Kind::ResourceSlice,
              slice_text(node_name(i), R"("nodeName":")" + node_name(i) + "\"", devices, gpus));
  }
  void put_wide_slice(int devices) {
    bench.put(api::Kind::ResourceSlice, slice_text("wide", R"("allNodes":true)", devices, devices));
  }
  // `device`: pool/name, or empty.
  void put_claim(const std::string& name, const std::string& device, int count) {
    std::string status;
    if (!device.empty())
      status = R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"x.example.com",)"
               R"("pool":")" +
               device.substr(0, device.find('/')) + R"(","device":")" + device.substr(device.find('/') + 1) +
               R"("}]}}})";
    bench.put(api::Kind::ResourceClaim,
              R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"c)" + name +
                  R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":")" +
                  device_class + R"(","allocationMode":"ExactCount","count":)" + std::to_string(count) +
                  "}}]}}" + status + "}");
  }

  void compare(model::Ledger::Transaction& transaction) {
    Topology& topology = bench.domains.topology("rack", bench.cluster);
    GroupFit fit(bench.plugins, bench.pods, bench.context, transaction, members);
    GroupDevices devices(bench.context, members);
    RC_ASSERT(devices.limits());
    const topology::FitCounts& kept = fit.counts(topology, devices);
    GroupFit new_fit(bench.plugins, bench.pods, bench.context, transaction, members);
    GroupDevices new_devices(bench.context, members);
    for (const topology::DomainId domain : topology.tree().leaves()) {
      std::int64_t sum = 0;
      for (const NodeId node : topology.tree().domain(domain).nodes)
        sum += new_devices.room(node, new_fit.room(node));
      RC_ASSERT(kept.sum(domain) == sum);
    }
  }

  const std::string device_class;  // any, or by an attribute: gpu
  PluginBench bench;
  std::vector<const api::Pod*> members;
};

void change(CountedWorld& world) {
  const int node = *rc::gen::inRange(0, kCountedNodes);
  const int devices = *rc::gen::inRange(0, kDevicesOfANode + 1);
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return world.put_slice(node, devices, *rc::gen::inRange(0, kDevicesOfANode + 1));
    case 1:
      return world.bench.erase(api::Kind::ResourceSlice, "", CountedWorld::node_name(node));
    case 2:
      return world.put_counted_node(node, *rc::gen::inRange(0, kCountedRacks));
    case 3:
      return world.bench.erase(api::Kind::Node, "", CountedWorld::node_name(node));
    case 4:
      if (devices > 1) return world.put_wide_slice(devices);
      return world.bench.erase(api::Kind::ResourceSlice, "", "wide");
    default:
      return world.put_claim(
          "h" + std::to_string(*rc::gen::inRange(0, kHolders)),
          devices == kDevicesOfANode ? "" : CountedWorld::node_name(node) + "/d" + std::to_string(devices),
          1);
  }
}

// A trial hides devices, and is undone.
void try_and_undo(CountedWorld& world) {
  model::Ledger::Transaction trial(world.bench.cluster.ledger());
  for (int hidden = *rc::gen::inRange(0, 4); hidden > 0; --hidden) {
    const model::DeviceId device = world.bench.cluster.find_device(
        "x.example.com", CountedWorld::node_name(*rc::gen::inRange(0, kCountedNodes)),
        "d" + std::to_string(*rc::gen::inRange(0, kDevicesOfANode)));
    if (device.valid()) trial.hide(device);
    if (*rc::gen::arbitrary<bool>()) world.compare(trial);
  }
}

TEST(DeviceCountsJudge, DomainsHaveTheRoomOfTheirNodesAfterAnyChanges) {
  EXPECT_TRUE(rc::check("kept counts equal new ones", [] {
    CountedWorld world(*rc::gen::elementOf(std::vector<std::string>{"any", "gpu"}));
    for (int steps = *rc::gen::inRange(1, 30); steps > 0; --steps) {
      change(world);
      if (*rc::gen::inRange(0, 3) == 0) try_and_undo(world);
      if (*rc::gen::inRange(0, 3) > 0) continue;
      model::Ledger::Transaction transaction(world.bench.cluster.ledger());
      world.compare(transaction);
    }
  }));
}

}  // namespace
}  // namespace berth::placement
