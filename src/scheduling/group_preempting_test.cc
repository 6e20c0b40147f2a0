// Preemption by groups through the scheduler: what it writes, for which members, and what ends it.
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

class GroupPreempts : public testing::Test {
 protected:
  void put_rack(const std::string& rack, int nodes) {
    for (int i = 0; i < nodes; ++i) {
      NodeSpec node{rack + std::to_string(i)};
      node.labels["rack"] = rack;
      bench.put_node(node);
    }
  }
  // `rest`: more members of spec.
  void run_pod(const std::string& name, const std::string& node, int priority, const std::string& cpu = "2",
               const std::string& group = "") {
    bench.put_pod(
        {name, cpu, group, R"(,"nodeName":")" + node + R"(","priority":)" + std::to_string(priority)});
    Json pod = *parse_json(*bench.view.pods.find("default", name)->raw);
    pod["status"]["phase"] = "Running";
    pod["status"]["startTime"] = format_time(bench.now + Duration::seconds(++started));
    bench.put_json(api::Kind::Pod, std::move(pod));
  }
  void put_gang(int members, const std::string& cpu = "2", const std::string& rest = "") {
    for (int i = 0; i < members; ++i)
      bench.put_pod({"g" + std::to_string(i), cpu, "g", R"(,"priority":9)" + rest});
  }
  std::string nominated(const std::string& pod) const {
    return bench.view.pods.find("default", pod)->nominated_node;
  }
  std::string event(const std::string& about, const std::string& reason) const {
    for (const client::EventNote& one : bench.events)
      if (one.regarding.name == about && one.reason == reason) return one.message;
    return "";
  }
  std::vector<std::string> evictions() const {
    std::vector<std::string> sorted = bench.evictions;
    std::ranges::sort(sorted);
    return sorted;
  }
  std::size_t holds() const { return bench.scheduler.cluster().ledger().holds().size(); }

  TestBench bench;
  int started = 0;
};

TEST_F(GroupPreempts, AllVictimsOfTheGangGoAndItsMembersFollow) {
  put_rack("r", 2);
  for (const char* name : {"a", "b"}) run_pod(name, "r0", 1);
  for (const char* name : {"c", "d"}) run_pod(name, "r1", 1);
  bench.put_group("g", 3, "", 9);
  put_gang(3);
  bench.run();
  EXPECT_EQ(bench.evictions.size(), 3u);
  EXPECT_EQ(holds(), 1u);
  EXPECT_TRUE(bench.group_message("g").ends_with(
      "pod group preemption: found a placement for podgroup, preempting 3 victims"))
      << bench.group_message("g");
  std::vector<std::string> nodes;
  for (const char* member : {"g0", "g1", "g2"}) nodes.push_back(nominated(member));
  for (const std::string& node : nodes) EXPECT_FALSE(node.empty());
  const std::string victim = bench.evictions.front().substr(6);
  EXPECT_EQ(event(victim, "Preempted"), "Preempted by podgroup uid-group-g on node cluster");
  EXPECT_EQ(
      api::find_condition(bench.view.pods.find("default", victim)->conditions, "DisruptionTarget")->message,
      "berth: preempting to accommodate a higher priority podgroup");
  EXPECT_TRUE(event("g", "RoomReserved").starts_with("Room on nodes r0, r1 is reserved until"))
      << event("g", "RoomReserved");

  // While they end, nobody else is evicted, and an equal priority does not get the room.
  bench.now = bench.now + Duration::seconds(20);
  bench.put_pod({"equal", "2", "", R"(,"priority":9,"preemptionPolicy":"Never")"});
  bench.run();
  EXPECT_EQ(bench.evictions.size(), 3u);
  for (const std::string& eviction : std::vector<std::string>(bench.evictions))
    bench.erase(api::Kind::Pod, eviction.substr(6));
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.node_of("equal"), "");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(bench.node_of("g" + std::to_string(i)), nodes[static_cast<std::size_t>(i)]);
  EXPECT_EQ(holds(), 0u);
}

TEST_F(GroupPreempts, TheCheapestRackIsFreed) {
  put_rack("r", 2);
  put_rack("s", 2);
  run_pod("a", "r0", 1, "4");
  run_pod("b", "r1", 1, "4");
  run_pod("c", "s0", 1, "2");
  run_pod("d", "s0", 1, "2");
  run_pod("e", "s1", 1, "4");
  bench.put_group("g", 4, "rack", 9);
  put_gang(4);
  bench.run();
  EXPECT_EQ(evictions(), (std::vector<std::string>{"evict a", "evict b"}));
  EXPECT_TRUE(message_of(bench.decisions.records().back())
                  .ends_with(" It gets its room in r when these pods have ended: default/a, default/b."))
      << message_of(bench.decisions.records().back());
}

TEST_F(GroupPreempts, NobodyIsEvictedWhereThatDoesNotHelp) {
  put_rack("r", 1);
  put_rack("s", 1);
  run_pod("a", "r0", 1, "3");
  run_pod("b", "s0", 1, "3");
  bench.put_group("g", 3, "rack", 9);
  put_gang(3);
  bench.run();
  EXPECT_TRUE(bench.evictions.empty());
  EXPECT_EQ(nominated("g0"), "");
  EXPECT_TRUE(bench.group_message("g").ends_with(
      "pod group preemption: pod group is unschedulable, 0/2 placements are available, first placement "
      "status: "
      "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"))
      << bench.group_message("g");
}

struct NeverCase {
  const char* name;
  const char* policy;  // of the group
  const char* member;
  bool evicts;
};

TEST_F(GroupPreempts, NeverMeansNever) {
  const NeverCase rows[] = {
      {"a member's, where the group has none", "", R"(,"preemptionPolicy":"Never")", false},
      {"the group's", "Never", "", false},
      {"the group's counts", "PreemptLowerPriority", R"(,"preemptionPolicy":"Never")", true},
  };
  for (const NeverCase& row : rows) {
    TestBench one;
    one.put_node({"n1"});
    one.put_pod({"low", "4", "", R"(,"nodeName":"n1","priority":1)"});
    one.put_group("g", 1, "", 9);
    if (*row.policy) {
      Json group = *parse_json(*one.view.pod_groups.find("default", "g")->raw);
      group["spec"]["preemptionPolicy"] = std::string(row.policy);
      one.put_json(api::Kind::PodGroup, std::move(group));
    }
    one.put_pod({"g0", "2", "g", std::string(R"(,"priority":9)") + row.member});
    one.run();
    EXPECT_EQ(one.evictions.size(), row.evicts ? 1u : 0u) << row.name;
    const bool never = one.group_message("g").ends_with("not eligible due to preemptionPolicy=Never.");
    EXPECT_EQ(never, !row.evicts) << row.name;
  }
}

TEST_F(GroupPreempts, ADelayIsReadFromTheGroup) {
  put_rack("r", 1);
  run_pod("a", "r0", 1, "4");
  bench.put_group("g", 2, "", 9);
  Json group = *parse_json(*bench.view.pod_groups.find("default", "g")->raw);
  group["metadata"]["annotations"]["scheduling.berth.dev/preemption-delay"] = "90s";
  group["metadata"]["creationTimestamp"] = format_time(bench.now);
  bench.put_json(api::Kind::PodGroup, std::move(group));
  put_gang(2);
  bench.run();
  EXPECT_TRUE(bench.evictions.empty());
  EXPECT_NE(message_of(bench.decisions.records().back()).find("It evicts nobody before"), std::string::npos)
      << message_of(bench.decisions.records().back());
  bench.now = bench.now + Duration::seconds(91);
  bench.run();
  EXPECT_EQ(evictions(), std::vector<std::string>{"evict a"});
}

// A basic group takes what it gets: one member fits, and the other one evicts pods once the first is placed.
// Nothing else happens in the cluster that would wake it.
TEST_F(GroupPreempts, AMemberThatWasLeftOutEvictsOthersNext) {
  put_rack("r", 1);
  run_pod("a", "r0", 1, "1");
  run_pod("b", "r0", 1, "1");
  bench.put_group("g", 0, "", 9);
  put_gang(2);
  bench.run();
  bench.now = bench.now + Duration::seconds(11);
  bench.run();
  EXPECT_EQ(bench.node_of("g0"), "r0");
  EXPECT_EQ(evictions(), (std::vector<std::string>{"evict a", "evict b"}));
}

TEST_F(GroupPreempts, AGroupThatIsGoneFreesTheRoom) {
  put_rack("r", 1);
  run_pod("a", "r0", 1, "4");
  bench.put_group("g", 2, "", 9);
  put_gang(2);
  bench.run();
  ASSERT_EQ(holds(), 1u);
  bench.erase(api::Kind::PodGroup, "g");
  bench.run();
  EXPECT_EQ(holds(), 0u);
}

TEST_F(GroupPreempts, AfterARestartTheSamePlanIsFoundAndNobodyElseIsEvicted) {
  put_rack("r", 2);
  run_pod("a", "r0", 1, "4");
  run_pod("b", "r1", 1, "4");
  bench.put_group("g", 2, "", 9);
  put_gang(2);
  bench.run();
  ASSERT_EQ(bench.evictions.size(), 1u);
  const std::string victim = bench.evictions.front().substr(6);
  Json ending = *parse_json(*bench.view.pods.find("default", victim)->raw);
  ending["metadata"]["deletionTimestamp"] = format_time(bench.now + Duration::seconds(30));
  bench.put_json(api::Kind::Pod, std::move(ending));
  Scheduler second({}, bench.selectors);
  for (const auto& [name, node] : bench.view.nodes.all())
    second.apply(bench.view, {client::key_of(api::Kind::Node, node->meta), {}, api::TypedObject(node)},
                 bench.now);
  for (const auto& [name, group] : bench.view.pod_groups.all())
    second.apply(bench.view, {client::key_of(api::Kind::PodGroup, group->meta), {}, api::TypedObject(group)},
                 bench.now);
  for (const auto& [name, pod] : bench.view.pods.all())
    second.apply(bench.view, {client::key_of(api::Kind::Pod, pod->meta), {}, api::TypedObject(pod)},
                 bench.now);
  bool evicts = false;
  for (int i = 0; i < 20; ++i)
    for (const client::Chain& chain : second.decide(bench.view, bench.now).chains)
      for (const client::Write& write : chain.writes)
        evicts = evicts || write.request.subresource == "eviction";
  EXPECT_FALSE(evicts);
  EXPECT_EQ(second.cluster().ledger().holds().size(), 1u);
}

}  // namespace
}  // namespace berth::scheduling
