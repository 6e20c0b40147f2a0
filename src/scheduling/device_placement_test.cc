// Placements from devices that the members of a gang share, against trying every choice of devices.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

std::string selector_on(const std::string& label) {
  return R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":")" + label + R"(","operator":"Exists"}]}]})";
}

// A pool of one device that nodes with the label reach.
void put_shared_device(TestBench& bench, const std::string& name, const std::string& label) {
  bench.put(api::Kind::ResourceSlice,
            R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"link.example.com","nodeSelector":)" +
                selector_on(label) + R"(,"pool":{"name":")" + name +
                R"(","generation":1,"resourceSliceCount":1},"devices":[{"name":"d0"}]}})");
}

void put_member(TestBench& bench, const std::string& name, int cpu) {
  bench.put_pod({name, std::to_string(cpu), "g",
                 R"(,"resourceClaims":[{"name":"shared","resourceClaimName":"shared"}])"});
}

// Several choices of nodes for one gang of pods that name one claim.
struct SharingGang {
  struct Node {
    int cpu = 0;
    std::vector<bool> labels;  // l0, l1, …
    bool local = false;        // has a device of its own
    std::string rack;
  };
  std::vector<Node> nodes;
  std::vector<int> devices;  // label of each
  int size = 1;              // members
  int request = 1;           // cpu of each
  int wanted = 1;            // devices of the claim
  bool racked = false;

  int room(const Node& node) const { return node.cpu / request; }

  // Whether a rack, or the cluster, has room for all on nodes that reach these devices; `own`: the number of
  // devices of the nodes themselves beside them.
  bool takes(const std::vector<int>& chosen, int own) const {
    std::map<std::string, int> by_rack;
    int most_local = 0;
    for (const Node& node : nodes) {
      if (racked && node.rack.empty()) continue;
      const bool reaches =
          std::all_of(chosen.begin(), chosen.end(), [&](int device) { return node.labels[devices[device]]; });
      if (!reaches || (own > 0 && !node.local)) continue;
      by_rack[racked ? node.rack : ""] += room(node);
      most_local = std::max(most_local, room(node));
    }
    if (own > 0) return most_local >= size;
    return std::any_of(by_rack.begin(), by_rack.end(), [&](const auto& one) { return one.second >= size; });
  }

  bool feasible() const {
    const auto count = static_cast<unsigned>(devices.size());
    for (unsigned picks = 0; picks < 1u << count; ++picks) {
      std::vector<int> chosen;
      for (unsigned i = 0; i < count; ++i)
        if ((picks >> i & 1) != 0) chosen.push_back(static_cast<int>(i));
      const int own = wanted - static_cast<int>(chosen.size());
      if (own >= 0 && own <= 1 && takes(chosen, own)) return true;
    }
    return false;
  }

  void put(TestBench& bench) const {
    bench.put_class("link", "device.driver == 'link.example.com'");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      NodeSpec spec{"n" + std::to_string(i), std::to_string(nodes[i].cpu)};
      for (std::size_t l = 0; l < nodes[i].labels.size(); ++l)
        if (nodes[i].labels[l]) spec.labels["l" + std::to_string(l)] = "";
      if (!nodes[i].rack.empty()) spec.labels["rack"] = nodes[i].rack;
      bench.put_node(spec);
      if (nodes[i].local) bench.put_slice("own-" + spec.name, spec.name, 1, "link.example.com");
    }
    for (std::size_t i = 0; i < devices.size(); ++i)
      put_shared_device(bench, "pool-" + std::to_string(i), "l" + std::to_string(devices[i]));
    bench.put_claim("shared", "link", wanted);
    bench.put_group("g", size, racked ? "rack" : "");
    for (int i = 0; i < size; ++i) put_member(bench, "p" + std::to_string(i), request);
  }
};

SharingGang any_gang() {
  constexpr int kLabels = 3;
  SharingGang gang;
  gang.size = *rc::gen::inRange(2, 7);
  gang.request = *rc::gen::inRange(1, 3);
  gang.wanted = *rc::gen::inRange(1, 3);
  gang.racked = *rc::gen::arbitrary<bool>();
  for (int i = *rc::gen::inRange(2, 9); i > 0; --i) {
    SharingGang::Node node;
    node.cpu = *rc::gen::inRange(1, 5);
    for (int l = 0; l < kLabels; ++l) node.labels.push_back(*rc::gen::arbitrary<bool>());
    node.local = *rc::gen::inRange(0, 4) == 0;
    node.rack = *rc::gen::elementOf(std::vector<std::string>{"", "r1", "r2"});
    gang.nodes.push_back(node);
  }
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) gang.devices.push_back(*rc::gen::inRange(0, kLabels));
  return gang;
}

TEST(DevicePlacementJudge, AGangThatSharesDevicesIsPlacedExactlyWhenItCanBe) {
  EXPECT_TRUE(rc::check("placed iff some choice of devices has room", [] {
    const SharingGang gang = any_gang();
    TestBench bench;
    gang.put(bench);
    bench.run();
    const bool expected = gang.feasible();
    RC_CLASSIFY(expected);
    for (int i = 0; i < gang.size; ++i)
      RC_ASSERT(!bench.node_of("p" + std::to_string(i)).empty() == expected);
  }));
}

// The emptiest node reaches d0 alone, with room for three; two others reach d1, with room for two each.
SharingGang two_fabrics() {
  SharingGang gang;
  gang.nodes = {{3, {true, false}, false, ""}, {2, {false, true}, false, ""}, {2, {false, true}, false, ""}};
  gang.devices = {0, 1};
  gang.size = 4;
  return gang;
}

TEST(DevicePlacement, TheDevicesThatEnoughNodesReachAreChosen) {
  TestBench bench;
  two_fabrics().put(bench);
  bench.run();
  for (const char* pod : {"p0", "p1", "p2", "p3"}) {
    const std::string node = bench.node_of(pod);
    EXPECT_TRUE(node == "n1" || node == "n2") << pod << " is on " << node;
  }
}

TEST(DevicePlacement, ARefusalTellsTheLargestSetOfNodes) {
  SharingGang gang = two_fabrics();
  gang.size = 5;
  TestBench bench;
  gang.put(bench);
  bench.run();
  EXPECT_EQ(bench.node_of("p0"), "");
  const std::string told = bench.event_of("p0");
  EXPECT_TRUE(
      told.ends_with("waits: the cluster does not take the 5 more pods it needs. Its members share claims, "
                     "and the largest of "
                     "2 sets of nodes that see the same devices has room for 4 of the 5 pods."))
      << told;
}

TEST(DevicePlacement, MembersWithoutTheClaimGoElsewhere) {
  SharingGang gang = two_fabrics();
  gang.size = 2;
  gang.nodes = {{1, {true}, false, ""}, {1, {true}, false, ""}, {4, {false}, false, ""}};
  gang.devices = {0};
  TestBench bench;
  gang.put(bench);
  bench.put_pod({"launcher", "3", "g"});
  bench.run();
  EXPECT_EQ(bench.node_of("launcher"), "n2");
  EXPECT_NE(bench.node_of("p0"), "");
}

}  // namespace
}  // namespace berth::scheduling
