// Preemption by trees of groups through the scheduler: what it writes, for which members; trees as victims;
// and the room of a tree that is overtaken.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

SchedulerOptions deciding_trees() {
  SchedulerOptions options;
  options.composite_groups = true;
  return options;
}

class TreePreempts : public testing::Test {
 protected:
  void put_rack(const std::string& rack, int nodes) {
    for (int i = 0; i < nodes; ++i) {
      NodeSpec node{rack + std::to_string(i)};
      node.labels["rack"] = rack;
      bench().put_node(node);
    }
  }
  void run_pod(const std::string& name, const std::string& node, int priority, const std::string& cpu = "2",
               const std::string& group = "") {
    bench().put_pod(
        {name, cpu, group, R"(,"nodeName":")" + node + R"(","priority":)" + std::to_string(priority)});
    Json pod = *parse_json(*bench().view.pods.find("default", name)->raw);
    pod["status"]["phase"] = "Running";
    pod["status"]["startTime"] = format_time(bench().now + Duration::seconds(++started));
    bench().put_json(api::Kind::Pod, std::move(pod));
  }
  // `rest`: more members of spec.
  void put_composite(const std::string& name, int minimum, int priority, const std::string& rest = "") {
    bench().put(api::Kind::CompositePodGroup, R"({"metadata":{"namespace":"default","name":")" + name +
                                                  R"("},"spec":{"priority":)" + std::to_string(priority) +
                                                  R"(,"schedulingPolicy":{"gang":{"minGroupCount":)" +
                                                  std::to_string(minimum) + "}}" + rest + "}}");
  }
  void put_child(const std::string& name, int minimum, const std::string& parent, int priority,
                 const std::string& rest = "") {
    bench().put(api::Kind::PodGroup, R"({"metadata":{"namespace":"default","name":")" + name +
                                         R"("},"spec":{"parentCompositePodGroupName":")" + parent +
                                         R"(","priority":)" + std::to_string(priority) +
                                         R"(,"schedulingPolicy":{"gang":{"minCount":)" +
                                         std::to_string(minimum) + "}}" + rest + "}}");
  }
  void put_pods(const std::string& group, int count, const std::string& cpu = "2",
                const std::string& rest = "") {
    for (int i = 0; i < count; ++i)
      bench().put_pod({group + "-" + std::to_string(i), cpu, group, R"(,"priority":9)" + rest});
  }
  void place(const PodSpec& pod) {
    bench().put_pod(pod);
    bench().run();
    ASSERT_NE(bench().node_of(pod.name), "");
    bench().bind(pod.name);
    bench().run();
  }
  std::string nominated(const std::string& pod) const {
    return bench().view.pods.find("default", pod)->nominated_node;
  }
  std::vector<std::string> evictions() const {
    std::vector<std::string> sorted = bench().evictions;
    std::ranges::sort(sorted);
    return sorted;
  }
  std::size_t holds() const { return bench().scheduler.cluster().ledger().holds().size(); }

  TestBench& bench() const { return *owned; }
  void begin() { owned = std::make_unique<TestBench>(deciding_trees()); }

  static constexpr const char* kInRack = R"(,"schedulingConstraints":{"topology":[{"key":"rack"}]})";
  std::unique_ptr<TestBench> owned = std::make_unique<TestBench>(deciding_trees());
  int started = 0;
};

TEST_F(TreePreempts, OnePlanForAllItsGroups) {
  put_rack("r", 2);
  put_rack("s", 2);
  for (const char* node : {"r0", "r1"}) run_pod(std::string("low-") + node, node, 1, "4");
  for (const char* node : {"s0", "s1"}) run_pod(std::string("mid-") + node, node, 2, "4");
  put_composite("root", 2, 9, kInRack);
  for (const char* group : {"a", "b"}) {
    put_child(group, 2, "root", 9);
    put_pods(group, 2);
  }
  bench().run();
  EXPECT_EQ(evictions(), (std::vector<std::string>{"evict low-r0", "evict low-r1"}));
  EXPECT_EQ(holds(), 1u);
  for (const char* pod : {"a-0", "a-1", "b-0", "b-1"}) EXPECT_EQ(nominated(pod).substr(0, 1), "r") << pod;
  const auto preempted = std::ranges::find_if(
      bench().events, [](const client::EventNote& event) { return event.reason == "Preempted"; });
  ASSERT_NE(preempted, bench().events.end());
  EXPECT_EQ(preempted->message, "Preempted by compositepodgroup uid-root on node cluster");
  const auto reserved = std::ranges::find_if(
      bench().events, [](const client::EventNote& event) { return event.reason == "RoomReserved"; });
  ASSERT_NE(reserved, bench().events.end());
  EXPECT_EQ(reserved->regarding.name, "root");
  EXPECT_TRUE(bench().message_of("a-0").ends_with(
      "pod group preemption: found a placement for podgroup, preempting 2 victims"))
      << bench().message_of("a-0");

  for (const char* victim : {"low-r0", "low-r1"}) bench().erase(api::Kind::Pod, victim);
  bench().now = bench().now + Duration::seconds(20);
  bench().run();
  for (const char* pod : {"a-0", "a-1", "b-0", "b-1"}) EXPECT_EQ(bench().node_of(pod), nominated(pod)) << pod;
  EXPECT_EQ(holds(), 0u);
}

TEST_F(TreePreempts, AChildStaysInADomainOfItsOwn) {
  put_rack("r", 2);
  put_rack("s", 2);
  run_pod("a", "r0", 1, "4");
  run_pod("b", "s0", 1, "4");
  run_pod("c", "s1", 5, "4");
  put_composite("root", 1, 9);
  put_child("g", 4, "root", 9, kInRack);
  put_pods("g", 4);
  bench().run();
  EXPECT_EQ(evictions(), std::vector<std::string>{"evict a"});
}

TEST_F(TreePreempts, NoMoreIsFreedThanTheMinimaNeed) {
  put_rack("r", 1);
  for (const char* pod : {"a", "b"}) run_pod(pod, "r0", 1, "2");
  put_composite("root", 1, 9);
  put_child("g", 1, "root", 9);
  put_pods("g", 2);
  bench().run();
  EXPECT_EQ(bench().evictions.size(), 1u);
}

TEST_F(TreePreempts, NeverMeansNever) {
  struct Row {
    const char* name;
    const char* root;
    const char* member;
    bool evicts;
  };
  const Row rows[] = {
      {"the root's", R"(,"preemptionPolicy":"Never")", "", false},
      {"a member's, where the root has none", "", R"(,"preemptionPolicy":"Never")", false},
      {"the root's counts", R"(,"preemptionPolicy":"PreemptLowerPriority")", R"(,"preemptionPolicy":"Never")",
       true},
  };
  for (const Row& row : rows) {
    begin();
    put_rack("r", 1);
    run_pod("low", "r0", 1, "4");
    put_composite("root", 1, 9, row.root);
    put_child("g", 1, "root", 9);
    put_pods("g", 1, "2", row.member);
    bench().run();
    EXPECT_EQ(bench().evictions.size(), row.evicts ? 1u : 0u) << row.name;
  }
}

TEST_F(TreePreempts, ATreeThatIsGoneFreesTheRoom) {
  put_rack("r", 1);
  run_pod("low", "r0", 1, "4");
  put_composite("root", 1, 9);
  put_child("g", 1, "root", 9);
  put_pods("g", 1);
  bench().run();
  ASSERT_EQ(holds(), 1u);
  bench().erase(api::Kind::CompositePodGroup, "root");
  bench().run();
  EXPECT_EQ(holds(), 0u);
}

// How a running tree gives way to a pod that needs one of its two nodes.
TEST_F(TreePreempts, ATreeGivesWayByItsDisruptionMode) {
  struct Row {
    const char* name;
    const char* root;
    const char* child;
    int minimum;  // of the root
    std::vector<std::string> evicted;
  };
  const std::string all = R"(,"disruptionMode":{"all":{}})";
  const Row rows[] = {
      {"one by one: a group that is not needed", "", "", 1, {"evict a-0"}},
      {"the group as one", "", all.c_str(), 1, {"evict a-0", "evict a-1"}},
      {"the tree as one", all.c_str(), "", 1, {"evict a-0", "evict a-1", "evict b-0"}},
      {"a gang that would lack a group", "", all.c_str(), 2, {"evict a-0", "evict a-1", "evict b-0"}},
  };
  for (const Row& row : rows) {
    begin();
    put_rack("r", 1);
    put_rack("s", 1);
    put_composite("root", row.minimum, 1, row.root);
    put_child("a", 1, "root", 1, row.child);
    put_child("b", 1, "root", 1);
    run_pod("a-0", "r0", 1, "4", "a");
    run_pod("a-1", "s0", 1, "1", "a");
    run_pod("b-0", "s0", 1, "1", "b");
    bench().put_pod({"high", "4", "", R"(,"priority":9,"nodeSelector":{"rack":"r"})"});
    bench().run();
    EXPECT_EQ(evictions(), row.evicted) << row.name;
  }
}

TEST_F(TreePreempts, ACircleOfParentsEnds) {
  for (const char* mode : {"", R"(,"disruptionMode":{"all":{}})"}) {
    begin();
    put_rack("r", 1);
    put_composite("x", 1, 1, std::string(R"(,"parentCompositePodGroupName":"y")") + mode);
    put_composite("y", 1, 1, R"(,"parentCompositePodGroupName":"x")");
    put_child("a", 1, "x", 1);
    run_pod("a-0", "r0", 1, "4", "a");
    bench().put_pod({"high", "4", "", R"(,"priority":9)"});
    bench().run();
    EXPECT_EQ(evictions(), std::vector<std::string>{"evict a-0"}) << mode;
  }
}

TEST_F(TreePreempts, TheRootsPriorityCounts) {
  put_rack("r", 1);
  put_composite("root", 1, 20);
  put_child("a", 1, "root", 1);
  run_pod("a-0", "r0", 1, "4", "a");
  bench().put_pod({"high", "4", "", R"(,"priority":9)"});
  bench().run();
  EXPECT_TRUE(bench().evictions.empty());
}

// As KeptRoom of a gang: pods of low priority fill two nodes, and a small one overtakes the tree.
TEST_F(TreePreempts, AnOvertakenTreeGetsAReservation) {
  for (const char* name : {"n1", "n2"}) bench().put_node({name});
  bench().put_node({"n3", "1"});
  for (const char* name : {"a", "b"}) place({name, "4"});
  put_composite("root", 2, 9, R"(,"preemptionPolicy":"Never")");
  for (const char* group : {"g", "h"}) {
    put_child(group, 1, "root", 9);
    put_pods(group, 1, "3");
  }
  bench().run();
  place({"small", "1"});
  bench().now = bench().now + Duration::seconds(21);
  bench().run();
  ASSERT_EQ(holds(), 1u);
  bench().erase(api::Kind::Pod, "a");
  bench().put_pod({"two-cores", "2"});
  bench().run();
  EXPECT_EQ(bench().node_of("two-cores"), "");
  bench().erase(api::Kind::Pod, "b");
  bench().now = bench().now + Duration::seconds(1);
  bench().run();
  EXPECT_NE(bench().node_of("g-0"), "");
  EXPECT_NE(bench().node_of("h-0"), "");
  EXPECT_EQ(holds(), 0u);
}

// One node of rack r and two of rack s are full; the policy wants two nodes of one rack.
TEST_F(TreePreempts, AReservationIsWhereThePolicyAllowsIt) {
  bench().put(api::Kind::Topology, R"({"metadata":{"name":"default"},"spec":{"levels":[)"
                                   R"({"name":"rack","nodeLabel":"rack"}]}})");
  bench().put(api::Kind::PlacementPolicy,
              R"({"metadata":{"namespace":"default","name":"near"},"spec":{"required":"rack","targetRef":)"
              R"({"group":"scheduling.k8s.io","kind":"CompositePodGroup","name":"root"}}})");
  put_rack("r", 1);
  put_rack("s", 2);
  bench().put_node({"small", "1"});
  for (const char* name : {"a", "b", "c"}) place({name, "4"});
  put_composite("root", 2, 9, R"(,"preemptionPolicy":"Never")");
  for (const char* group : {"g", "h"}) {
    put_child(group, 1, "root", 9);
    put_pods(group, 1, "3");
  }
  bench().run();
  place({"small", "1"});
  bench().now = bench().now + Duration::seconds(21);
  bench().run();
  const auto holds = bench().scheduler.cluster().ledger().holds();
  ASSERT_EQ(holds.size(), 1u);
  std::set<std::string> nodes;
  for (const auto& place : holds.begin()->second.places)
    nodes.insert(bench().scheduler.cluster().node(place.node).name);
  EXPECT_EQ(nodes, (std::set<std::string>{"s0", "s1"}));
}

}  // namespace
}  // namespace berth::scheduling
