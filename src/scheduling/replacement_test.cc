// Failed nodes under a PlacementPolicy: who leaves, what is kept for the successors, and what is said.
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

// Nodes that take one member each.
class FailingWorld {
 public:
  explicit FailingWorld(const SchedulerOptions& options = {}) : bench(options) {
    bench.put(api::Kind::Topology, R"({"metadata":{"name":"default","generation":1},"spec":{"levels":[)"
                                   R"({"name":"block","nodeLabel":"block"},)"
                                   R"({"name":"rack","nodeLabel":"rack"}]}})");
  }
  void put_rack(const std::string& rack, int nodes, const std::string& block = "b1") {
    for (int i = 0; i < nodes; ++i)
      bench.put_node({rack + "-" + std::to_string(i), "4", "8Gi", "110", {{"block", block}, {"rack", rack}}});
  }
  void put_policy(const std::string& more = "", const std::string& replace = "WithinDomain") {
    bench.put(api::Kind::PlacementPolicy,
              R"({"metadata":{"namespace":"default","name":"near","generation":1},"spec":{"targetRef":)"
              R"({"group":"scheduling.k8s.io","kind":"PodGroup","name":"a"},"required":"rack",)"
              R"("replaceFailedNodes":")" +
                  replace + "\"" + more + "}}");
  }
  void put_member(int number, const std::string& spec = "", int created = 0) {
    bench.put_pod({"a-" + std::to_string(number), "3", "a", spec, "", "", created});
  }
  // A gang whose members run.
  void run_gang(int members, const std::string& spec = "", int minimum = 0) {
    bench.put_group("a", minimum > 0 ? minimum : members);
    for (int i = 0; i < members; ++i) put_member(i, spec);
    pass();
    bench.commit_gang("a", "a-0");
    for (int i = 0; i < members; ++i) run(i);
    pass();
  }
  void run(int number) {
    const std::string name = "a-" + std::to_string(number);
    if (bench.node_of(name).empty()) return;
    bench.bind(name);
    for (const api::BindRequest* request : bench.view.bind_requests_of_pod("default", name))
      bench.erase(api::Kind::BindRequest, std::string(request->meta.name));
  }
  // Owners make their pods again.
  void give_owners() {
    std::vector<Json> pods;
    for (const auto& [key, pod] : bench.view.pods.all()) pods.push_back(*parse_json(*pod->raw));
    for (Json& pod : pods) {
      pod["metadata"]["ownerReferences"] =
          *parse_json(R"([{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"j","controller":true}])");
      bench.put_json(api::Kind::Pod, std::move(pod));
    }
  }
  std::string place(int number) const {
    const api::Pod* pod = bench.view.pods.find("default", "a-" + std::to_string(number));
    return pod ? pod->node_name : "";
  }
  void change_node(const std::string& name, const std::string& status, const std::string& taints = "") {
    Json node = *parse_json(*bench.view.nodes.find("", name)->raw);
    node["spec"]["taints"] = *parse_json("[" + taints + "]");
    if (!status.empty())
      node["status"]["conditions"] = Json::array({Json::object(
          {{"type", "Ready"}, {"status", status}, {"lastTransitionTime", format_time(bench.now)}})});
    bench.put_json(api::Kind::Node, std::move(node));
  }
  void pass(Duration time = Duration::seconds(2)) {
    for (const Time end = bench.now + time; bench.now < end; bench.now = bench.now + Duration::millis(500))
      run();
    run();
  }
  // Pods whose deletion began are gone.
  void end_deleted() {
    std::vector<std::string> names;
    for (const auto& [key, pod] : bench.view.pods.all())
      if (pod->meta.deleting()) names.push_back(key.name);
    for (const std::string& name : names) bench.erase(api::Kind::Pod, name);
  }
  Json condition() const {
    for (const Json& one :
         bench.view.placement_policies.find("default", "near")->status.items_at("conditions"))
      if (one.string_at("type") == "FailedNodesReplaced") return one;
    return {};
  }
  std::string reason() const { return std::string(condition().string_at("reason")); }
  std::string message() const { return std::string(condition().string_at("message")); }
  std::set<std::string> evicted() const { return {bench.evictions.begin(), bench.evictions.end()}; }
  // Nodes on which room is kept.
  std::set<std::string> kept_on() const {
    std::set<std::string> nodes;
    const model::Cluster& cluster = bench.scheduler.cluster();
    for (const auto& [id, hold] : cluster.ledger().holds())
      for (const model::HeldPlace& place : hold.places) nodes.insert(cluster.node(place.node).name);
    return nodes;
  }

  TestBench bench;
  std::string_view refusal;        // of evictions, with code 429; empty: they are accepted
  std::size_t refused = 0;         // evictions
  std::size_t evicting_turns = 0;  // turns that evict

 private:
  void run() {
    for (int i = 0; i < 10'000; ++i) {
      const client::Effects effects = bench.decide();
      if (effects.chains.empty() && effects.events.empty()) return;
      const bool evicts = effects.decision_id == kReplacementWrites;
      evicting_turns += evicts ? 1 : 0;
      if (evicts && !refusal.empty())
        refused += bench.refuse(effects, refusal);
      else
        bench.carry_out(effects);
    }
    ADD_FAILURE() << "the scheduler does not come to rest";
  }
};

class Replacing : public testing::Test, protected FailingWorld {};

constexpr const char* kEvicting = R"({"key":"broken","effect":"NoExecute"})";

TEST_F(Replacing, TwoLeaveInOneStepAndTheOthersStay) {
  put_policy();
  put_rack("r1", 6);
  put_rack("r2", 6);
  run_gang(4);
  const std::string rack = place(0).substr(0, 2);
  EXPECT_EQ(reason(), "NoFailedNodes");
  change_node(place(1), "", kEvicting);
  change_node(place(3), "", kEvicting);
  pass();
  EXPECT_EQ(evicted(), (std::set<std::string>{"evict a-1", "evict a-3"}));
  EXPECT_EQ(evicting_turns, 1u);
  EXPECT_EQ(reason(), "Replacing");
  EXPECT_NE(message().find("2 of 4 pods move in rack b1/" + rack), std::string::npos) << message();
  const HeldRooms held = bench.scheduler.held_rooms();
  ASSERT_EQ(held.rooms.size(), 1u);
  EXPECT_EQ(held.rooms[0].purpose, RoomPurpose::Replacement);
  EXPECT_EQ(held.rooms[0].owner.name, "a");
  EXPECT_EQ(held.rooms[0].node_count, 2u);

  // The room is kept from pods of the same priority.
  bench.put_pod({"rival", "3", "", R"(,"nodeSelector":{"rack":")" + rack + "\"}"});
  pass();
  EXPECT_EQ(bench.node_of("rival"), "");
  end_deleted();
  put_member(4);
  put_member(5);
  pass();
  for (const int successor : {4, 5}) {
    EXPECT_EQ(bench.node_of("a-" + std::to_string(successor)).substr(0, 2), rack);
    run(successor);
  }
  pass();
  EXPECT_EQ(reason(), "NoFailedNodes");
  EXPECT_EQ(bench.evictions.size(), 2u);
}

// No kubelet ends the pods of a silent node.
TEST_F(Replacing, SuccessorsMakeTheGroupWholeWhileDeletedPodsLinger) {
  put_policy();
  put_rack("r1", 5);
  run_gang(4);
  change_node(place(1), "", kEvicting);
  pass();
  ASSERT_EQ(evicted(), std::set<std::string>{"evict a-1"});
  put_member(4, "", 60);
  pass();
  run(4);
  pass(kReplacementMax + Duration::seconds(1));
  EXPECT_EQ(reason(), "NoFailedNodes");
}

TEST_F(Replacing, TheRoomOfTheLastOneIsKeptWhenTwoSuccessorsComeTogether) {
  put_policy();
  put_rack("r1", 7);
  run_gang(4, "", 1);
  for (const int member : {1, 2, 3}) change_node(place(member), "", kEvicting);
  pass();
  ASSERT_EQ(evicted().size(), 3u);
  std::set<std::string> rooms = kept_on();
  ASSERT_EQ(rooms.size(), 3u);
  end_deleted();
  put_member(4, "", 60);
  put_member(5, "", 61);
  pass();
  for (const char* successor : {"a-4", "a-5"}) EXPECT_EQ(rooms.erase(bench.node_of(successor)), 1u);
  EXPECT_EQ(kept_on(), rooms);
}

TEST_F(Replacing, WithoutSpareItWaitsAndSaysSo) {
  put_policy();
  put_rack("r1", 3);
  run_gang(3);
  put_rack("r2", 3);
  change_node("r1-0", "", kEvicting);
  pass();
  EXPECT_TRUE(evicted().empty());
  EXPECT_EQ(reason(), "NoSpareRoom");
  EXPECT_NE(message().find("1 of 3 pods have failed nodes, and there is no spare room: r1-0 is tainted"),
            std::string::npos)
      << message();
  EXPECT_TRUE(std::ranges::any_of(bench.events, [](const client::EventNote& event) {
    return event.reason == "NoSpareRoom" && event.warning;
  }));
  bench.put_node({"r1-spare", "4", "8Gi", "110", {{"block", "b1"}, {"rack", "r1"}}});
  pass(kSpareSearchEvery + Duration::seconds(1));
  EXPECT_EQ(evicted().size(), 1u);
  EXPECT_EQ(reason(), "Replacing");
}

TEST_F(Replacing, WidenTakesTheNextBroaderLevel) {
  put_policy(R"(,"whenNoSpare":"Widen")");
  put_rack("r1", 3);
  run_gang(3);
  put_rack("r2", 1);
  put_rack("r3", 3, "b2");
  change_node(place(0), "", kEvicting);
  pass();
  ASSERT_EQ(evicted(), std::set<std::string>{"evict a-0"});
  EXPECT_NE(message().find("in block b1"), std::string::npos) << message();
  end_deleted();
  put_member(3);
  pass();
  EXPECT_EQ(bench.node_of("a-3"), "r2-0");
}

TEST_F(Replacing, TheWholeGroupGoesAndItsSuccessorsWaitForTheLastOne) {
  put_policy(R"(,"whenNoSpare":"ReplaceGroup")");
  put_rack("r1", 3);
  run_gang(3);
  put_rack("r2", 3);
  change_node(place(0), "", kEvicting);
  pass();
  EXPECT_TRUE(evicted().empty()) << "nobody makes the other pods again";
  EXPECT_EQ(reason(), "NoSpareRoom");
  give_owners();
  pass(kSpareSearchEvery + Duration::seconds(1));
  ASSERT_EQ(evicted().size(), 3u);
  bench.erase(api::Kind::Pod, "a-0");
  bench.erase(api::Kind::Pod, "a-1");
  for (int i = 3; i < 6; ++i) put_member(i);
  pass();
  EXPECT_EQ(bench.node_of("a-3"), "") << "a-2 is still there";
  end_deleted();
  pass();
  for (int i = 3; i < 6; ++i) EXPECT_EQ(bench.node_of("a-" + std::to_string(i)).substr(0, 2), "r2");
}

TEST_F(Replacing, ABudgetHoldsAndTheRoomIsKept) {
  put_policy();
  put_rack("r1", 4);
  run_gang(3);
  refusal = client::kBudgetRefuses;
  change_node(place(0), "", kEvicting);
  pass(Duration::seconds(20));
  EXPECT_GT(refused, 2u) << "it is asked again";
  EXPECT_LT(refused, 12u) << "with backoff";
  EXPECT_EQ(reason(), "BudgetRefuses");
  bench.put_pod({"rival", "3", "", R"(,"nodeSelector":{"rack":"r1"})"});
  pass();
  EXPECT_EQ(bench.node_of("rival"), "");
  refusal = {};
  pass(kRetriedWriteMax + Duration::seconds(1));
  EXPECT_EQ(evicted(), std::set<std::string>{"evict a-0"});
}

TEST_F(Replacing, RoomThatABudgetKeepsEmptyIsForOthersBeforeItIsSearchedAgain) {
  put_policy();
  put_rack("r1", 4);
  run_gang(3);
  refusal = client::kBudgetRefuses;
  change_node(place(0), "", kEvicting);
  pass();
  ASSERT_EQ(kept_on(), std::set<std::string>{"r1-3"});
  bench.put_pod({"rival", "3", "", R"(,"nodeSelector":{"rack":"r1"})"});
  pass(kReplacementMax - Duration::seconds(10));
  EXPECT_EQ(bench.node_of("rival"), "");
  pass(Duration::seconds(12));
  EXPECT_EQ(bench.node_of("rival"), "r1-3");
  EXPECT_EQ(reason(), "BudgetRefuses");
  pass(kSpareSearchEvery);
  EXPECT_EQ(reason(), "NoSpareRoom");
}

// The nodes of the other members and the failed one have names before that of the spare.
TEST_F(Replacing, ASuccessorThatToleratesTheTaintForATimeGoesElsewhere) {
  const std::string tolerates =
      R"(,"tolerations":[{"key":"broken","operator":"Exists","tolerationSeconds":3600}])";
  put_policy();
  put_rack("r1", 4);
  run_gang(3, tolerates);
  ASSERT_EQ(place(0), "r1-0");
  change_node("r1-0", "", kEvicting);
  pass();
  EXPECT_EQ(evicted(), std::set<std::string>{"evict a-0"});
  end_deleted();
  put_member(3, tolerates);
  pass();
  EXPECT_EQ(bench.node_of("a-3"), "r1-3");
}

TEST_F(Replacing, ATaintThatIsToleratedForEverFailsNoNode) {
  constexpr const char* kDedicated = R"({"key":"team","effect":"NoExecute"})";
  put_policy();
  put_rack("r1", 4);
  for (int i = 0; i < 4; ++i) change_node("r1-" + std::to_string(i), "", kDedicated);
  run_gang(3, R"(,"tolerations":[{"key":"team","operator":"Exists"}])");
  EXPECT_EQ(reason(), "NoFailedNodes");
  change_node(place(0), "", std::string(kDedicated) + "," + kEvicting);
  pass();
  EXPECT_EQ(reason(), "Replacing") << message();
  EXPECT_EQ(evicted(), std::set<std::string>{"evict a-0"});
}

TEST_F(Replacing, AMemberWhoseNodeRecoversStays) {
  put_policy();
  put_rack("r1", 5);
  run_gang(3);
  refusal = client::kBudgetRefuses;
  for (const int member : {0, 1}) change_node(place(member), "", kEvicting);
  pass();
  EXPECT_EQ(kept_on().size(), 2u);
  change_node(place(1), "");
  pass();
  EXPECT_EQ(kept_on().size(), 1u);
  refusal = {};
  pass(kRetriedWriteMax + Duration::seconds(1));
  EXPECT_EQ(evicted(), std::set<std::string>{"evict a-0"});
  EXPECT_NE(message().find("1 of 3 pods move in rack b1/r1: " + place(0)), std::string::npos) << message();
}

TEST_F(Replacing, AServerWithTooManyRequestsIsNoBudget) {
  put_policy();
  put_rack("r1", 4);
  run_gang(3);
  refusal = "too many requests";
  change_node(place(0), "", kEvicting);
  pass(Duration::seconds(20));
  EXPECT_GT(refused, 2u);
  EXPECT_EQ(reason(), "Replacing");
}

TEST_F(Replacing, ASpareThatFailsIsSearchedAgain) {
  put_policy();
  put_rack("r1", 5);
  run_gang(3);
  refusal = client::kBudgetRefuses;
  change_node(place(0), "", kEvicting);
  pass();
  ASSERT_EQ(kept_on().size(), 1u);
  const std::string first = *kept_on().begin();
  change_node(first, "", kEvicting);
  refusal = {};
  pass(Duration::seconds(15));
  EXPECT_EQ(reason(), "Replacing");
  EXPECT_EQ(message().find("room is kept on " + first), std::string::npos) << message();
}

TEST_F(Replacing, AnElasticGroupMovesAsManyAsFit) {
  put_policy();
  put_rack("r1", 4);
  run_gang(3, "", 1);
  change_node(place(0), "", kEvicting);
  change_node(place(1), "", kEvicting);
  pass();
  EXPECT_EQ(evicted().size(), 1u);
}

TEST_F(Replacing, LostMembersWithoutRoomHoldUpNobody) {
  put_policy();
  put_rack("r1", 4);
  run_gang(3, "", 1);
  change_node(place(0), "", kEvicting);
  change_node(place(1), "", kEvicting);
  pass();
  const std::set<std::string> spare = kept_on();
  ASSERT_EQ(spare, std::set<std::string>{"r1-3"});
  end_deleted();
  pass();
  EXPECT_EQ(evicted().size(), 1u) << "the room is for the successor";
  EXPECT_EQ(kept_on(), spare);
  EXPECT_EQ(reason(), "Replacing");
  EXPECT_NE(message().find("1 of 3 pods move"), std::string::npos) << message();
  put_member(3, "", 60);
  pass();
  EXPECT_EQ(bench.node_of("a-3"), "r1-3");
  run(3);
  pass();
  EXPECT_EQ(reason(), "NoSpareRoom");
  bench.put_node({"r1-spare", "4", "8Gi", "110", {{"block", "b1"}, {"rack", "r1"}}});
  pass(kSpareSearchEvery + Duration::seconds(1));
  EXPECT_EQ(evicted(), (std::set<std::string>{"evict a-0", "evict a-1"}));
}

TEST_F(Replacing, AFilledRoomEndsThoughAnotherMemberIsMissing) {
  put_policy();
  put_rack("r1", 4);
  run_gang(3, "", 1);
  change_node(place(0), "", kEvicting);
  change_node(place(1), "", kEvicting);
  pass();
  ASSERT_EQ(kept_on(), std::set<std::string>{"r1-3"});
  end_deleted();
  bench.erase(api::Kind::Pod, evicted().contains("evict a-0") ? "a-1" : "a-0");
  put_member(3, "", 60);
  pass();
  EXPECT_EQ(bench.node_of("a-3"), "r1-3");
  EXPECT_TRUE(kept_on().empty());
  EXPECT_EQ(reason(), "NoFailedNodes") << "nobody moves any more";
}

TEST_F(Replacing, AMemberThatIsLostLaterGetsARoomOfItsOwn) {
  put_policy();
  put_rack("r1", 6);
  run_gang(4);
  change_node(place(0), "", kEvicting);
  pass();
  ASSERT_EQ(evicted(), std::set<std::string>{"evict a-0"});
  end_deleted();
  const std::set<std::string> first = kept_on();
  change_node(place(1), "", kEvicting);
  pass();
  EXPECT_EQ(evicted(), (std::set<std::string>{"evict a-0", "evict a-1"}));
  const std::set<std::string> both = kept_on();
  EXPECT_EQ(both.size(), 2u);
  EXPECT_TRUE(std::ranges::includes(both, first));
  EXPECT_NE(message().find("2 of 4 pods move in rack b1/r1: "), std::string::npos) << message();
  end_deleted();
  put_member(4, "", 60);
  put_member(5, "", 61);
  pass();
  EXPECT_EQ((std::set<std::string>{bench.node_of("a-4"), bench.node_of("a-5")}), both);
}

// The first one could go where the second one is, which does not tolerate the taint there and has no other
// room.
TEST_F(Replacing, AMemberThatStaysKeepsItsRoom) {
  put_policy();
  put_rack("r1", 3);
  bench.put_group("a", 1);
  put_member(0, R"(,"tolerations":[{"key":"team","operator":"Exists"}])");
  put_member(1);
  put_member(2);
  pass();
  for (const int member : {0, 1, 2}) run(member);
  pass();
  change_node(place(0), "", kEvicting);
  change_node(place(1), "", R"({"key":"team","effect":"NoExecute"})");
  pass();
  EXPECT_TRUE(evicted().empty());
  EXPECT_EQ(reason(), "NoSpareRoom");
}

// The successor would have to go where the other one is.
TEST_F(Replacing, AMemberThatStaysKeepsTheDomain) {
  put_policy();
  put_rack("r1", 2);
  run_gang(2, "", 1);
  put_rack("r2", 1);
  for (const int member : {0, 1}) change_node(place(member), "", kEvicting);
  pass();
  EXPECT_TRUE(evicted().empty());
  EXPECT_EQ(reason(), "NoSpareRoom");
  bench.put_node({"r2-more", "4", "8Gi", "110", {{"block", "b1"}, {"rack", "r2"}}});
  pass(kSpareSearchEvery + Duration::seconds(1));
  EXPECT_EQ(kept_on(), (std::set<std::string>{"r2-0", "r2-more"}));
  EXPECT_EQ(evicted().size(), 2u);
}

// The search for room comes before the decision about the member that waits.
TEST_F(Replacing, NobodyLeavesForTheRoomOfAMemberThatWaits) {
  put_policy();
  put_rack("r1", 4);
  run_gang(3, "", 1);
  change_node(place(1), "", kEvicting);
  bench.now = bench.now + kPlacesSettle;
  put_member(3, "", 60);
  pass();
  EXPECT_EQ(bench.node_of("a-3"), "r1-3");
  EXPECT_TRUE(evicted().empty());
}

TEST_F(Replacing, TheRoomEndsInTimeThoughNobodyComes) {
  put_policy();
  put_rack("r1", 4);
  run_gang(3);
  change_node(place(0), "", kEvicting);
  pass();
  end_deleted();
  pass();
  ASSERT_EQ(kept_on().size(), 1u);
  pass(kReplacementMax);
  EXPECT_TRUE(kept_on().empty());
}

struct LossCase {
  const char* what;
  const char* ready;
  const char* taint;
  const char* tolerations;
  int seconds;  // until the member leaves; -1: never
};

TEST(LostPlaces, WhenAMemberLeaves) {
  constexpr const char* kTolerates = R"({"operator":"Exists"})";
  constexpr const char* kForAWhile = R"({"operator":"Exists","tolerationSeconds":300})";
  const LossCase cases[] = {
      {"a ready node", "True", "", "", -1},
      {"not ready", "False", "", "", 30},
      {"silent", "Unknown", "", "", 30},
      {"not ready, and the pod stays", "False", "", kTolerates, -1},
      {"tainted", "", kEvicting, "", 0},
      {"tainted, and the pod stays for a while", "", kEvicting, kForAWhile, 0},
      {"tainted, and the pod stays", "", kEvicting, kTolerates, -1},
      {"tainted for new pods", "", R"({"key":"full","effect":"NoSchedule"})", "", -1},
  };
  for (const LossCase& test : cases) {
    SCOPED_TRACE(test.what);
    FailingWorld world;
    world.put_policy();
    world.put_rack("r1", 4);
    world.run_gang(2, std::string(R"(,"tolerations":[)") + test.tolerations + "]");
    world.change_node(world.place(0), test.ready, test.taint);
    if (test.seconds > 2) {
      world.pass(Duration::seconds(test.seconds - 2));
      EXPECT_TRUE(world.evicted().empty());
    }
    world.pass(Duration::seconds(4));
    EXPECT_EQ(world.evicted().size(), test.seconds < 0 ? 0u : 1u);
    world.pass(Duration::seconds(60));
    EXPECT_EQ(world.evicted().size(), test.seconds < 0 ? 0u : 1u);
  }
}

TEST_F(Replacing, NodesThatFailTogetherAreReplacedTogether) {
  put_policy();
  put_rack("r1", 6);
  run_gang(4);
  change_node(place(0), "Unknown");
  pass(Duration::seconds(20));
  change_node(place(1), "Unknown");
  pass(Duration::seconds(9));
  EXPECT_TRUE(evicted().empty());
  pass(Duration::seconds(3));
  EXPECT_EQ(evicted().size(), 2u);
  EXPECT_EQ(evicting_turns, 1u);
}

TEST_F(Replacing, ADeletedNodeIsReplacedAndNeverMeansNever) {
  put_policy("", "Never");
  put_rack("r1", 4);
  run_gang(3);
  bench.erase(api::Kind::Node, place(0), "");
  pass(Duration::seconds(30));
  EXPECT_TRUE(evicted().empty());
  EXPECT_EQ(reason(), "");
  put_policy(R"(,"topology":"default")");
  Json policy = *parse_json(*bench.view.placement_policies.find("default", "near")->raw);
  policy["metadata"]["generation"] = 2;
  bench.put_json(api::Kind::PlacementPolicy, std::move(policy));
  pass(Duration::seconds(15));
  EXPECT_EQ(evicted(), std::set<std::string>{"evict a-0"});
}

// On nodes that take one pod each the answer is a count.
TEST(ReplacingJudge, LeavesExactlyWhenTheRackHasRoomForAll) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SeededRandom random(seed);
    FailingWorld world;
    world.put_policy();
    const int nodes = 3 + static_cast<int>(random.below(6));
    const int members = 2 + static_cast<int>(random.below(static_cast<std::uint64_t>(nodes - 2)));
    world.put_rack("r1", nodes);
    world.run_gang(members);
    world.put_rack("r2", 4);
    std::set<std::string> used, failed;
    for (int i = 0; i < members; ++i) used.insert(world.place(i));
    ASSERT_EQ(used.size(), static_cast<std::size_t>(members));
    int lost = 0, spare = 0;
    for (int i = 0; i < nodes; ++i) {
      const std::string node = "r1-" + std::to_string(i);
      const bool fails = random.below(3) == 0;
      if (fails) world.change_node(node, "", kEvicting);
      lost += fails && used.contains(node) ? 1 : 0;
      spare += !fails && !used.contains(node) ? 1 : 0;
    }
    world.pass();
    const bool all_lost = lost == members;  // then nothing says where the group was
    const std::size_t leave = lost > 0 && (spare >= lost || (all_lost && members <= 4)) ? lost : 0;
    EXPECT_EQ(world.evicted().size(), leave) << "seed " << seed;
    EXPECT_EQ(world.reason(), lost == 0 ? "NoFailedNodes" : leave > 0 ? "Replacing" : "NoSpareRoom");
  }
}

// A tree in one block: two members of a, and one of b. Each is alone on a node of r1.
class ReplacingInTrees : public testing::Test, protected FailingWorld {
 protected:
  ReplacingInTrees() : FailingWorld(with_trees()) {
    bench.put(api::Kind::CompositePodGroup,
              R"({"metadata":{"namespace":"default","name":"root"},"spec":{"priority":0,"schedulingPolicy":)"
              R"({"basic":{}},"schedulingConstraints":{"topology":[{"key":"block"}]}}})");
    for (const char* group : {"a", "b"})
      bench.put(api::Kind::PodGroup,
                std::string(R"({"metadata":{"namespace":"default","name":")") + group +
                    R"("},"spec":{"priority":0,"schedulingPolicy":{"gang":{"minCount":1}},)" +
                    R"("parentCompositePodGroupName":"root"}})");
    put_rack("r1", 3);
    put_member(0, R"(,"nodeName":"r1-0")");
    put_member(1, R"(,"nodeName":"r1-1")");
    bench.put_pod({"b-0", "3", "b", R"(,"nodeName":"r1-2")"});
  }
  void put_policy_of_tree(const std::string& levels) {
    bench.put(api::Kind::PlacementPolicy,
              R"({"metadata":{"namespace":"default","name":"near","generation":1},"spec":{"targetRef":)"
              R"({"group":"scheduling.k8s.io","kind":"CompositePodGroup","name":"root"},)"
              R"("replaceFailedNodes":"WithinDomain",)" +
                  levels + "}}");
  }
  void put_wide_policy() {
    bench.put(api::Kind::PlacementPolicy,
              R"({"metadata":{"namespace":"default","name":"near","generation":1},"spec":{"targetRef":)"
              R"({"group":"scheduling.k8s.io","kind":"PodGroup","name":"a"},)"
              R"("replaceFailedNodes":"WithinDomain"}})");
  }
  // The failed node has a name before that of the spare.
  void expect_that_a_successor_avoids_the_failed_node() {
    const std::string tolerates =
        R"(,"tolerations":[{"key":"broken","operator":"Exists","tolerationSeconds":3600}])";
    put_rack("r2", 1);
    pass();
    change_node("r1-1", "", kEvicting);
    pass();
    EXPECT_EQ(evicted(), std::set<std::string>{"evict a-1"});
    end_deleted();
    put_member(2, tolerates);
    pass();
    EXPECT_EQ(bench.node_of("a-2"), "r2-0");
    run(2);
    pass();
    EXPECT_EQ(evicted(), std::set<std::string>{"evict a-1"});
    put_member(3, tolerates);
    pass();
    EXPECT_EQ(bench.node_of("a-3"), "") << "a late member has no room there either";
  }
};

TEST_F(ReplacingInTrees, SuccessorsAvoidTheFailedNodesOfTheirOwnPolicy) {
  put_wide_policy();
  expect_that_a_successor_avoids_the_failed_node();
}

TEST_F(ReplacingInTrees, SuccessorsAvoidTheFailedNodesOfThePolicyOfTheTree) {
  put_policy_of_tree(R"("preferred":["block"])");
  expect_that_a_successor_avoids_the_failed_node();
}

TEST_F(ReplacingInTrees, AMemberMovesInsideTheBlockOfTheTree) {
  put_wide_policy();
  put_rack("q", 3, "b2");
  put_rack("r2", 1);
  pass();
  change_node("r1-1", "", kEvicting);
  pass();
  EXPECT_EQ(evicted(), std::set<std::string>{"evict a-1"});
  EXPECT_EQ(kept_on(), std::set<std::string>{"r2-0"});
  end_deleted();
  bench.put_pod({"rival", "3"});
  put_member(2);
  pass();
  EXPECT_EQ(bench.node_of("a-2"), "r2-0");
  run(2);
  pass();
  EXPECT_TRUE(kept_on().empty());
  EXPECT_EQ(reason(), "NoFailedNodes");
}

// Both groups have a member on a failed node. They share a rack, which is a wish of the tree.
TEST_F(ReplacingInTrees, ThePolicyOfTheTreeReplacesMembersOfEachGroup) {
  put_policy_of_tree(R"("preferred":["rack"])");
  put_rack("r2", 3);
  pass();
  EXPECT_EQ(reason(), "NoFailedNodes");
  change_node("r1-1", "", kEvicting);
  change_node("r1-2", "", kEvicting);
  pass();
  EXPECT_TRUE(evicted().empty());
  EXPECT_EQ(reason(), "NoSpareRoom");
  EXPECT_EQ(message().substr(0, 3), "a: ");
  for (const char* spare : {"r1-3", "r1-4"})
    bench.put_node({spare, "4", "8Gi", "110", {{"block", "b1"}, {"rack", "r1"}}});
  pass(kSpareSearchEvery + Duration::seconds(1));
  EXPECT_EQ(evicted(), (std::set<std::string>{"evict a-1", "evict b-0"}));
  EXPECT_EQ(kept_on(), (std::set<std::string>{"r1-3", "r1-4"}));
  EXPECT_EQ(reason(), "Replacing");
  end_deleted();
  put_member(2);
  bench.put_pod({"b-1", "3", "b"});
  pass();
  EXPECT_EQ((std::set<std::string>{bench.node_of("a-2"), bench.node_of("b-1")}),
            (std::set<std::string>{"r1-3", "r1-4"}));
  bench.bind("b-1");
  run(2);
  pass();
  EXPECT_TRUE(kept_on().empty());
  EXPECT_EQ(reason(), "NoFailedNodes");
}

TEST_F(ReplacingInTrees, ATreeThatSharesNoDomainOfItsWishesKeepsToWhatItRequires) {
  put_policy_of_tree(R"("preferred":["rack"])");
  put_rack("r2", 2);
  put_rack("q", 3, "b2");
  bench.put_pod({"b-1", "3", "b", R"(,"nodeName":"r2-0")"});
  pass();
  change_node("r1-1", "", kEvicting);
  pass();
  EXPECT_EQ(kept_on(), std::set<std::string>{"r2-1"});
}

TEST_F(ReplacingInTrees, WithoutSpareInTheBlockItWaits) {
  for (const char* when : {"Wait", "Widen", "ReplaceGroup"}) {
    put_policy(std::string(R"(,"whenNoSpare":")") + when + "\"");
    put_rack("q", 3, "b2");
    change_node("r1-1", "", kEvicting);
    pass();
    EXPECT_TRUE(evicted().empty()) << when;
    EXPECT_EQ(reason(), "NoSpareRoom") << when;
  }
}

}  // namespace
}  // namespace berth::scheduling
