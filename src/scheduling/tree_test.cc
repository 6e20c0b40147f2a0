// Trees of groups: one entry for each root, what gates it, and the writes of its decision.
#include <gtest/gtest.h>

#include "api/types/gang_decision.h"
#include "placement/refusal/berth_words.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

struct TreeBench : TestBench {
  TreeBench() : TestBench(with_trees()) {}

  // `minimum` 0: the basic policy. `parent` empty: none.
  void put_composite(const std::string& name, int minimum, const std::string& parent = "",
                     const std::string& key = "") {
    put_tree_object(api::Kind::CompositePodGroup, name, "minGroupCount", minimum, parent, key);
  }
  void put_child(const std::string& name, int minimum, const std::string& parent,
                 const std::string& key = "") {
    put_tree_object(api::Kind::PodGroup, name, "minCount", minimum, parent, key);
  }
  void put_pods(const std::string& group, int count, const std::string& cpu = "1") {
    for (int i = 0; i < count; ++i) put_pod({group + "-" + std::to_string(i), cpu, group});
  }
  std::string condition(api::Kind kind, const std::string& name, std::string_view type) const {
    const std::vector<api::Condition>* conditions = nullptr;
    if (kind == api::Kind::PodGroup) conditions = &view.pod_groups.find("default", name)->conditions;
    if (kind == api::Kind::CompositePodGroup)
      conditions = &view.composite_groups.find("default", name)->conditions;
    const api::Condition* found = api::find_condition(*conditions, type);
    return found ? found->status + "/" + found->reason + "/" + found->message : "";
  }
  std::string told_of_group(const std::string& name) const {
    return condition(api::Kind::PodGroup, name, api::kGroupScheduled);
  }
  std::string told_of_composite(const std::string& name) const {
    return condition(api::Kind::CompositePodGroup, name, api::kCompositeScheduled);
  }
  const api::BindRequest* request_of(const std::string& pod) const {
    const auto requests = view.bind_requests_of_pod("default", pod);
    return requests.empty() ? nullptr : requests.front();
  }
  // "a-0 b-0": pods that have a place.
  std::string placed() const {
    std::string text;
    for (const auto& [name, pod] : view.pods.all())
      if (!node_of(name.name).empty()) text.append(text.empty() ? "" : " ").append(name.name);
    return text;
  }
  // As the binder does: the root's register, then the pods.
  void commit(const std::string& root, const std::string& pod) {
    const api::CompositePodGroup& stored = *view.composite_groups.find("default", root);
    Json object = *parse_json(*stored.raw);
    object["status"]["conditions"] =
        Json::array({api::to_json(api::scheduled_condition(stored, true, "Scheduled", "", now)),
                     api::to_json(api::gang_condition(stored, request_of(pod)->decision_id,
                                                      api::GangOutcome::Committed, now))});
    put_json(api::Kind::CompositePodGroup, std::move(object));
  }

 private:
  void put_tree_object(api::Kind kind, const std::string& name, const std::string& field, int minimum,
                       const std::string& parent, const std::string& key) {
    std::string text =
        R"({"metadata":{"namespace":"default","name":")" + name +
        R"("},"spec":{"priority":0,"schedulingPolicy":)" +
        (minimum == 0 ? R"({"basic":{}})" : R"({"gang":{")" + field + "\":" + std::to_string(minimum) + "}}");
    if (!parent.empty()) text += R"(,"parentCompositePodGroupName":")" + parent + "\"";
    if (!key.empty()) text += R"(,"schedulingConstraints":{"topology":[{"key":")" + key + "\"}]}";
    put(kind, text + "}}");
  }
};

TEST(Trees, AllGroupsAreOneDecision) {
  TreeBench bench;
  bench.put_node({"n1", "8"});
  bench.put_composite("root", 2);
  bench.put_child("a", 2, "root");
  bench.put_child("b", 1, "root");
  bench.put_pods("a", 2);
  bench.run();
  EXPECT_EQ(bench.placed(), "") << "b has no pod yet";
  bench.put_pods("b", 1);
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 a-1 b-0");
  const api::BindRequest& a = *bench.request_of("a-0");
  const api::BindRequest& b = *bench.request_of("b-0");
  EXPECT_EQ(a.decision_id, b.decision_id);
  EXPECT_EQ(a.group.size, 3);
  EXPECT_EQ(a.group.name + " " + b.group.name, "a b");
  EXPECT_EQ(a.group.root.name + " " + a.group.root.uid, "root uid-root");
  EXPECT_EQ(bench.scheduler.queue().active_count() + bench.scheduler.queue().waiting_count(), 0u);
}

TEST(Trees, ACommitIsToldOfEveryGroup) {
  TreeBench bench;
  bench.put_node({"n1", "8"});
  bench.put_composite("root", 1);
  bench.put_composite("inner", 1, "root");
  bench.put_child("a", 2, "inner");
  bench.put_pods("a", 2);
  bench.run();
  EXPECT_EQ(bench.told_of_group("a") + bench.told_of_composite("inner"), "");
  bench.commit("root", "a-0");
  bench.run();
  EXPECT_EQ(bench.told_of_group("a"), "True/Scheduled/");
  EXPECT_EQ(bench.told_of_composite("inner"), "True/Scheduled/");
}

TEST(Trees, ARefusalIsToldOfEveryGroup) {
  TreeBench bench;
  bench.put_node({"n1", "2"});
  bench.put_composite("root", 2);
  bench.put_child("a", 1, "root");
  bench.put_child("b", 2, "root");
  bench.put_pods("a", 1);
  bench.put_pods("b", 2);
  bench.run();
  EXPECT_EQ(bench.placed(), "");
  EXPECT_EQ(bench.told_of_group("a").substr(0, 20), "False/Unschedulable/");
  EXPECT_EQ(bench.told_of_group("b").substr(0, 20), "False/Unschedulable/");
  EXPECT_EQ(bench.told_of_composite("root").substr(0, 20), "False/Unschedulable/");
  EXPECT_EQ(bench.reason_of("a-0"), "Unschedulable");
  bench.put_node({"n2", "2"});
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 b-0 b-1");
}

// In Berth's words, of the tree: the group that finds no room, and what comes closest.
TEST(Trees, TheGroupThatFindsNoRoomIsNamed) {
  struct Row {
    std::string what, key_of_root, key_of_b;
    int pods_of_b;
    std::string told;
  };
  const Row rows[] = {
      {"no rack takes the second group", "", "rack", 3,
       "pod group default/root waits: the cluster does not take the 4 more pods it needs; PodGroup b needs 3 "
       "more pods next to the other groups, and s comes closest with room for 2 by cpu, memory and pod "
       "slots."},
      {"no block takes both", "rack", "", 2,
       "pod group default/root waits: none of 2 domains of rack takes the 3 more pods it needs; s comes "
       "closest with room for 2 by cpu, memory and pod slots; 1 node has no label rack."},
      {"the cluster is too small", "", "", 5,
       "pod group default/root waits: the cluster does not take the 6 more pods it needs; it has room for 5 "
       "by cpu, memory and pod slots."},
      {"no node has the label", "zone", "", 1, "pod group default/root waits: no node has the label zone."},
      {"no node has the label of a group", "", "zone", 1,
       "pod group default/root waits: the cluster does not take the 2 more pods it needs; PodGroup b needs 1 "
       "more pod next to the other groups, and no node there has the label zone."},
  };
  for (const Row& row : rows) {
    TreeBench bench;
    for (const char* name : {"r", "s"}) {
      NodeSpec node{name, name == std::string("r") ? "1" : "2"};
      node.labels["rack"] = name;
      bench.put_node(node);
    }
    bench.put_node({"unlabelled", "2"});
    bench.put_composite("root", 2, "", row.key_of_root);
    bench.put_child("a", 1, "root");
    bench.put_child("b", row.pods_of_b, "root", row.key_of_b);
    bench.put_pods("a", 1);
    bench.put_pods("b", row.pods_of_b);
    bench.run();
    const auto record =
        std::find_if(bench.decisions.records().begin(), bench.decisions.records().end(),
                     [](const DecisionRecord& one) { return one.kind == DecisionKind::CompositeGroup; });
    ASSERT_NE(record, bench.decisions.records().end()) << row.what;
    EXPECT_EQ(placement::explanation_of(*record->refusal), row.told) << row.what;
    EXPECT_TRUE(bench.told_of_composite("root").ends_with(" " + row.told)) << bench.told_of_composite("root");
  }
}

TEST(Trees, AGroupThatComesLaterJoinsTheTree) {
  TreeBench bench;
  bench.put_node({"n1", "8"});
  bench.put_composite("root", 1);
  bench.put_child("a", 1, "root");
  bench.put_pods("a", 1);
  bench.run();
  ASSERT_EQ(bench.placed(), "a-0");
  EXPECT_EQ(bench.request_of("a-0")->group.size, 1) << "every minimum is one: nobody waits";
  bench.bind("a-0");
  bench.put_child("b", 2, "root");
  bench.put_pods("b", 1);
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0");
  bench.put_pod({"b-1", "1", "b"});
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 b-0 b-1");
  EXPECT_EQ(bench.request_of("b-0")->group.size, 2);
}

TEST(Trees, AGroupThatBeginsDoesNotJoinADecisionAtTheBarrier) {
  TreeBench bench;
  bench.put_node({"n1", "8"});
  bench.put_composite("root", 1);
  bench.put_child("a", 2, "root");
  bench.put_pods("a", 2);
  bench.run();
  ASSERT_EQ(bench.placed(), "a-0 a-1");
  bench.put_pod({"a-2", "1", "a"});
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 a-1 a-2");
  EXPECT_EQ(bench.request_of("a-2")->decision_id, bench.request_of("a-0")->decision_id);
  bench.put_child("b", 2, "root");
  bench.put_pods("b", 2);
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 a-1 a-2");
  bench.commit("root", "a-0");
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 a-1 a-2 b-0 b-1");
  EXPECT_NE(bench.request_of("b-0")->decision_id, bench.request_of("a-0")->decision_id);
}

class LatestGates final : public DecisionLog {
 public:
  void append(DecisionRecord) override {}
  void gated(GateRecord record) override { words[record.name] = placement::gate_words(record.gate); }
  std::map<std::string, std::string> words;
};

TEST(Trees, AMemberThatJoinsRenewsTheGatesOfAllGroups) {
  TreeBench bench;
  LatestGates gates;
  bench.decisions.pass_on_to(&gates);
  bench.put_composite("root", 2);
  bench.put_child("a", 2, "root");
  bench.put_child("b", 3, "root");
  bench.put_pods("a", 1);
  bench.put_pods("b", 1);
  bench.run();
  bench.put_pod({"b-1", "1", "b"});
  bench.run();
  ASSERT_EQ(gates.words.size(), 3u);
  for (const auto& [name, words] : gates.words)
    EXPECT_NE(words.find("PodGroup b has 2 of 3 pods"), std::string::npos) << name << ": " << words;
}

// The member that the decision leaves out is in the queue, and the new node wakes it.
TEST(Trees, NobodyIsDecidedWhileRequestsOfTheTreeAreWritten) {
  for (const bool joins : {false, true}) {
    SCOPED_TRACE(joins);
    TreeBench bench;
    bench.put_node({"n1", "2"});
    bench.put_composite("root", 1);
    bench.put_child("a", 2, "root");
    bench.put_pods("a", 3);
    const client::Effects written = bench.decide();
    ASSERT_EQ(written.chains.size(), 2u);
    bench.put_node({"n2", "2"});
    if (joins) bench.put_pod({"a-3", "1", "a"});
    bench.run();
    EXPECT_EQ(bench.placed(), "");
    bench.carry_out(written);
    bench.run();
    EXPECT_EQ(bench.placed(), joins ? "a-0 a-1 a-2 a-3" : "a-0 a-1 a-2");
    EXPECT_EQ(bench.view.bind_request_count_of_decision(written.decision_id), joins ? 4u : 3u)
        << "they join the decision at the barrier";
  }
}

TEST(Trees, AChildThatIsShortHoldsNobodyWhereTheParentNeedsItNot) {
  TreeBench bench;
  bench.put_node({"n1", "8"});
  bench.put_composite("root", 1);
  bench.put_child("a", 1, "root");
  bench.put_child("b", 3, "root");
  bench.put_pods("a", 1);
  bench.put_pods("b", 2);
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0");
  bench.put_pod({"b-2", "1", "b"});
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 b-0 b-1 b-2");
}

// kube-scheduler tries them, because the root is complete.
TEST(Trees, MembersBelowAGroupWithoutItsChildrenAreTold) {
  TreeBench bench;
  bench.put_node({"n1", "8"});
  bench.put_composite("root", 0);
  bench.put_child("a", 0, "root");
  bench.put_pods("a", 1);
  bench.run();
  bench.bind("a-0");
  bench.put_composite("sub", 2, "root");
  bench.put_child("b", 0, "sub");
  bench.put_pods("b", 1);
  bench.run();
  EXPECT_EQ(bench.message_of("b-0"),
            "pod group is unschedulable, CompositePodGroup root wants 1 group, and 1 is complete: "
            "CompositePodGroup sub has 1 of 2 groups");
  bench.put_child("c", 0, "sub");
  bench.put_pods("c", 1);
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 b-0 c-0");
}

// One comparison: nothing is simulated.
TEST(Trees, WhatIsMissingIsNamed) {
  struct Row {
    std::string what;
    std::function<void(TreeBench&)> make;
    std::string told;
  };
  const std::vector<Row> rows = {
      {"no parent", [](TreeBench& bench) { bench.put_child("a", 1, "root"); },
       "CompositePodGroup root does not exist"},
      {"a parent without its parent",
       [](TreeBench& bench) {
         bench.put_composite("inner", 1, "root");
         bench.put_child("a", 1, "inner");
       },
       "CompositePodGroup root does not exist"},
      {"a cycle",
       [](TreeBench& bench) {
         bench.put_composite("root", 1, "inner");
         bench.put_composite("inner", 1, "root");
         bench.put_child("a", 1, "root");
       },
       "CompositePodGroup root is an ancestor of itself"},
      {"too deep",
       [](TreeBench& bench) {
         bench.put_composite("root", 1);
         bench.put_composite("c2", 1, "root");
         bench.put_composite("c3", 1, "c2");
         bench.put_composite("c4", 1, "c3");
         bench.put_child("a", 1, "c4");
       },
       "the tree of CompositePodGroup c2 has more than 4 levels"},
      {"one of two",
       [](TreeBench& bench) {
         bench.put_composite("root", 2);
         bench.put_child("a", 1, "root");
       },
       "CompositePodGroup root wants 2 groups, and 1 is complete"},
      {"one is short",
       [](TreeBench& bench) {
         bench.put_composite("root", 2);
         bench.put_child("a", 1, "root");
         bench.put_child("b", 2, "root");
         bench.put_composite("c", 1, "root");
       },
       "CompositePodGroup root wants 2 groups, and 1 is complete: PodGroup b has 0 of 2 pods, "
       "CompositePodGroup c has 0 of 1 groups"},
  };
  for (const Row& row : rows) {
    TreeBench bench;
    bench.put_node({"n1", "200"});
    row.make(bench);
    bench.put_pods("a", 3);
    bench.run();
    EXPECT_EQ(bench.placed(), "") << row.what;
    EXPECT_EQ(bench.scheduler.queue().gated_count(), 1u) << row.what;
    EXPECT_TRUE(bench.decisions.records().empty()) << row.what;
    std::string told = bench.told_of_group("a");
    if (told.empty()) told = bench.told_of_composite("root");
    EXPECT_EQ(told, "False/Unschedulable/pod group waits: " + row.told) << row.what;
  }
}

TEST(Trees, AParentThatComesLateLetsItsGroupsGo) {
  TreeBench bench;
  bench.put_node({"n1", "8"});
  bench.put_pods("a", 2);
  bench.put_child("a", 2, "inner");
  bench.run();
  bench.put_composite("inner", 1, "root");
  bench.run();
  EXPECT_EQ(bench.placed(), "");
  EXPECT_EQ(bench.scheduler.queue().gated_count(), 1u) << "under the name of the root alone";
  bench.put_composite("root", 1);
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 a-1");
}

TEST(Trees, AParentThatGoesHoldsWhatIsLeft) {
  TreeBench bench;
  bench.put_node({"n1", "1"});
  bench.put_composite("root", 1);
  bench.put_composite("inner", 1, "root");
  bench.put_child("a", 2, "inner");
  bench.put_pods("a", 2);
  bench.run();
  bench.erase(api::Kind::CompositePodGroup, "root");
  bench.put_node({"n2", "1"});
  bench.run();
  EXPECT_EQ(bench.placed(), "");
  bench.put_composite("root", 1);
  bench.run();
  EXPECT_EQ(bench.placed(), "a-0 a-1");
}

// Its policy is immutable, so who wants another one creates it again.
TEST(Trees, ARootThatIsMadeAgainWakesItsTreeAndAnotherRootDoesNot) {
  TreeBench bench;
  bench.put_node({"n1", "1"});
  bench.put_composite("root", 2);
  bench.put_child("a", 1, "root");
  bench.put_child("b", 1, "root");
  bench.put_pods("a", 1);
  bench.put_pods("b", 1);
  bench.run();
  const std::size_t refused = bench.decisions.records().size();
  ASSERT_GT(refused, 0u);
  bench.now = bench.now + Duration::seconds(20);
  bench.put_composite("other", 1);
  bench.run();
  EXPECT_EQ(bench.decisions.records().size(), refused);
  bench.erase(api::Kind::CompositePodGroup, "root");
  bench.put_composite("root", 1);
  bench.run();
  EXPECT_GT(bench.decisions.records().size(), refused);
  EXPECT_NE(bench.placed(), "");
}

TEST(Trees, WithoutTheGateAChildIsHeld) {
  TestBench bench;
  bench.put_node({"n1", "8"});
  bench.put(api::Kind::PodGroup, R"({"metadata":{"namespace":"default","name":"a"},"spec":{
      "schedulingPolicy":{"basic":{}},"parentCompositePodGroupName":"root"}})");
  bench.put_pod({"p", "1", "a"});
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "");
  EXPECT_NE(bench.group_message("a").find("the feature gate CompositePodGroup is off"), std::string::npos);
}

// A process died between the requests of one decision: those that were written are taken back, whichever
// group they are of.
TEST(Trees, ADecisionThatWasNotWrittenInFullIsTakenBack) {
  TreeBench bench;
  bench.put_node({"n1", "8"});
  bench.put_composite("root", 2);
  bench.put_child("a", 1, "root");
  bench.put_child("b", 1, "root");
  bench.put_pods("a", 1);
  bench.put_pods("b", 1);
  bench.put(api::Kind::BindRequest, R"({"metadata":{"namespace":"default","name":"a-0-uid-a-0"},"spec":{
      "podName":"a-0","podUID":"uid-a-0","selectedNode":"n1","decisionID":"earlier",
      "group":{"name":"a","uid":"uid-a","size":2,"root":{"name":"root","uid":"uid-root"}}}})");
  bench.carry_out(bench.decide());
  EXPECT_TRUE(bench.request_of("a-0")->withdrawn);
  EXPECT_EQ(bench.request_of("b-0"), nullptr);
}

TEST(Trees, TheRecordsNameTheTreeAndItsGroups) {
  TreeBench bench;
  bench.put_node({"n1", "8"});
  bench.put_composite("root", 2);
  bench.put_child("a", 1, "root");
  bench.put_child("b", 1, "root");
  bench.put_pods("a", 1);
  bench.put_pods("b", 1);
  bench.run();
  std::string text;
  for (const DecisionRecord& record : bench.decisions.records())
    text += std::string(name_of(record.kind)) + " " + record.name + " of '" + record.parent + "' " +
            std::to_string(record.placed.size()) + "\n";
  EXPECT_EQ(text, "CompositeGroup root of '' 2\nGroup a of 'root' 1\nGroup b of 'root' 1\n");
  EXPECT_EQ(bench.decisions.count(DecisionResult::Placed), 1u);
}

}  // namespace
}  // namespace berth::scheduling
