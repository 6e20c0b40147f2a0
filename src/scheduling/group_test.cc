// Groups: gangs, basic groups, racks, and the sentence of each member.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "api/types/gang_decision.h"
#include "client/claim_writes.h"
#include "placement/refusal/berth_words.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

NodeSpec racked(const std::string& name, const std::string& rack, const std::string& cpu = "1") {
  return {name, cpu, "8Gi", "110", {{"rack", rack}}};
}

std::string nodes_of(const TestBench& bench, const std::vector<std::string>& pods) {
  std::string text;
  for (const std::string& pod : pods) text += (text.empty() ? "" : " ") + pod + ":" + bench.node_of(pod);
  return text;
}

TEST(Groups, AGangIsBoundTogether) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_node({"n2"});
  bench.put_group("g", 2);
  bench.put_pod({"a", "1", "g"});
  EXPECT_TRUE(bench.run().empty()) << "fewer pods than minCount wait without a word";
  bench.put_pod({"b", "1", "g"});
  const std::vector<std::string> texts = bench.run();
  EXPECT_EQ(nodes_of(bench, {"a", "b"}), "a:n1 b:n2");
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].find("stop-on-failure"), std::string::npos);
  bench.commit_gang("g", "a");
  bench.run();
  const api::BindRequest& request = *bench.view.bind_requests_of_pod("default", "a").front();
  EXPECT_EQ(request.group.name + "/" + request.group.uid, "g/uid-group-g");
  EXPECT_EQ(request.group.size, 2);
  const api::Condition* condition = api::find_condition(
      bench.view.pod_groups.find("default", "g")->conditions, "PodGroupInitiallyScheduled");
  ASSERT_TRUE(condition);
  EXPECT_EQ(condition->status + "/" + condition->reason + "/" + condition->message, "True/Scheduled/");
}

std::string group_told(const TestBench& bench) {
  const api::Condition* condition =
      api::find_condition(bench.view.pod_groups.find("default", "g")->conditions, api::kGroupScheduled);
  return condition ? condition->status : "";
}

void put_placed_gang(TestBench& bench) {
  bench.put_node({"n1", "2"});
  bench.put_group("g", 2);
  for (const char* name : {"a", "b"}) bench.put_pod({name, "1", "g"});
  bench.run();
}

TEST(Groups, TheCommitTellsThatAGangIsScheduled) {
  TestBench bench;
  put_placed_gang(bench);
  bench.bind("a");
  bench.bind("b");
  EXPECT_TRUE(bench.run().empty()) << "the commit was not seen yet";
  bench.now = bench.now + kCommitTellsWithin - Duration::millis(1);
  EXPECT_TRUE(bench.run().empty());
  bench.commit_gang("g", "a");
  bench.now = bench.now + kConditionRetryMax;
  EXPECT_TRUE(bench.run().empty());
}

TEST(Groups, WhatAnEarlierReleaseCommittedIsToldAsScheduled) {
  TestBench bench;
  put_placed_gang(bench);
  const std::string decision = bench.view.bind_requests_of_pod("default", "a").front()->decision_id;
  Json group = *parse_json(*bench.view.pod_groups.find("default", "g")->raw);
  group["metadata"]["annotations"][api::kGangDecisionAnnotation] = "Committed " + decision;
  bench.put_json(api::Kind::PodGroup, group);
  EXPECT_TRUE(bench.run().empty());
  bench.now = bench.now + kCommitTellsWithin;
  bench.run();
  EXPECT_EQ(group_told(bench), "True");
}

TEST(Groups, ARefusalThatCouldNotBeWrittenIsNotToldBehindTheCommit) {
  TestBench bench;
  bench.put_group("g", 2);
  for (const char* name : {"a", "b"}) bench.put_pod({name, "1", "g"});
  const client::Effects refusal = bench.decide();
  client::Outcome failed;
  for (const client::Chain& chain : refusal.chains) failed.chains.push_back({chain.key, false, 0, {}});
  ASSERT_EQ(failed.chains.size(), 3u);
  bench.scheduler.on_outcome(bench.view, failed, bench.now);
  bench.put_node({"n1", "2"});
  while (bench.node_of("a").empty()) {
    const client::Effects effects = bench.decide();
    ASSERT_FALSE(effects.chains.empty());
    bench.carry_out(effects);
  }
  bench.commit_gang("g", "a");
  bench.now = bench.now + kConditionRetryMax;
  EXPECT_TRUE(bench.run().empty());
  EXPECT_EQ(group_told(bench), "True");
}

// The member that the decision leaves out is in the queue, and the new node wakes it.
TEST(Groups, NobodyIsDecidedWhileRequestsOfTheGangAreWritten) {
  for (const bool joins : {false, true}) {
    SCOPED_TRACE(joins);
    TestBench bench;
    bench.put_node({"n1", "2"});
    bench.put_group("g", 2);
    for (const char* name : {"a", "b", "c"}) bench.put_pod({name, "1", "g"});
    const client::Effects written = bench.decide();
    ASSERT_EQ(written.chains.size(), 2u);
    bench.put_node({"n2", "2"});
    if (joins) bench.put_pod({"d", "1", "g"});
    bench.run();
    EXPECT_EQ(bench.node_of("c") + bench.node_of("d"), "");
    bench.carry_out(written);
    bench.run();
    EXPECT_EQ(bench.node_of("c") + bench.node_of("d"), joins ? "n2n2" : "n2");
    EXPECT_EQ(bench.view.bind_request_count_of_decision(written.decision_id), joins ? 4u : 3u)
        << "they join the decision at the barrier";
  }
}

class Gates final : public DecisionLog {
 public:
  void append(DecisionRecord) override {}
  void gated(GateRecord record) override {
    heard.push_back(record.name + ": " + placement::gate_words(record.gate));
  }
  std::vector<std::string> heard;
};

TEST(Groups, WhyAGroupMayNotBeTriedIsLogged) {
  TestBench bench;
  Gates gates;
  bench.decisions.pass_on_to(&gates);
  bench.put_pod({"a", "1", "g"});
  bench.run();
  bench.put_group("g", 2);
  bench.run();
  EXPECT_EQ(gates.heard, (std::vector<std::string>{"g: PodGroup g does not exist",
                                                   "g: the gang wants 2 pods, and 1 is there"}));
}

TEST(Groups, APodWhosePodGroupIsMissingIsGatedSilently) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_pod({"p", "1", "g"});
  EXPECT_TRUE(bench.run().empty());
}

TEST(Groups, AGatedMemberGatesItsGroupAndAloneGetsACondition) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_group("g", 2);
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "1", "g", R"(,"schedulingGates":[{"name":"x"}])"});
  bench.run();
  EXPECT_EQ(bench.reason_of("a") + "/" + bench.reason_of("b"), "/SchedulingGated");
  EXPECT_EQ(bench.node_of("a"), "");
}

TEST(Groups, ARefusedGangSetsTheConditionOfEveryMember) {
  TestBench bench;
  bench.put_node({"n1", "2"});
  bench.put_group("g", 2);
  bench.put_pod({"a", "2", "g"});
  bench.put_pod({"b", "2", "g"});
  bench.run();
  const std::string group =
      "pod group is unschedulable, 0/1 placements are available, first placement status: minCount (2) cannot "
      "be satisfied: 1 scheduled, 0 remaining, pod group preemption: No preemption victims found for "
      "incoming preemptor";
  const std::string group_in_words =
      " pod group default/g waits: the cluster does not take the 2 more pods it needs.";
  const std::string member = "0/1 nodes are available: 1 Insufficient cpu.";
  const std::string member_in_words =
      "pod default/b waits: 1 of 1 nodes lacks cpu (n1: it asks for 2; n1 comes closest with 0 free).";
  EXPECT_EQ(bench.group_message("g"), group);
  EXPECT_EQ(bench.message_of("a"), "pod group is unschedulable, " + group);
  EXPECT_EQ(bench.event_of("a"), "pod group is unschedulable, " + group + group_in_words);
  EXPECT_EQ(bench.message_of("b"), member);
  EXPECT_EQ(bench.event_of("b"), member + " " + member_in_words + group_in_words);
  const DecisionRecord& record = bench.decisions.records().back();
  EXPECT_EQ(message_of(record), group + group_in_words);
  ASSERT_EQ(record.refusal->members.size(), 1u) << "a would have had a node";
  const placement::Refusal& b = *record.refusal->members[0];
  EXPECT_EQ(b.of.name + ": " + placement::explanation_of(b), "b: " + member_in_words);
}

TEST(Groups, WithoutTopologyAwareSchedulingNoPlacementsAreCounted) {
  SchedulerOptions options;
  options.placements = placement::Placements::NodesAlone;
  TestBench bench(options);
  bench.put_node({"n1", "2"});
  bench.put_group("g", 2, "rack");
  bench.put_pod({"a", "2", "g"});
  bench.put_pod({"b", "2", "g"});
  bench.run();
  const std::string group =
      "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, pod group preemption: No preemption "
      "victims found for incoming preemptor";
  EXPECT_EQ(bench.group_message("g"), group) << "the topology key is not read";
  EXPECT_EQ(bench.message_of("a"), "pod group is unschedulable, " + group);
}

TEST(Groups, TheFirstMissEndsAGangThatNeedsEveryMember) {
  TestBench bench;
  bench.put_node({"n1", "1"});
  bench.put_group("g", 2);
  bench.put_pod({"a", "2", "g"});
  bench.put_pod({"b", "2", "g"});
  bench.run();
  EXPECT_EQ(bench.message_of("a"), "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_NE(bench.group_message("g").find("0 scheduled, 1 remaining"), std::string::npos)
      << bench.group_message("g");
}

TEST(Groups, MembersAboveTheMinimumAreBestEffort) {
  TestBench bench;
  bench.put_node({"n1", "2"});
  bench.put_group("g", 2);
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "1", "g"});
  bench.put_pod({"c", "2", "g"});
  bench.run();
  EXPECT_EQ(nodes_of(bench, {"a", "b", "c"}), "a:n1 b:n1 c:");
  EXPECT_EQ(bench.message_of("c"), "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_EQ(bench.group_message("g"), "");
}

TEST(Groups, ABasicGroupIsNotAllOrNothing) {
  TestBench bench;
  bench.put_node({"n1", "2"});
  bench.put_group("g", 0);
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "8", "g"});
  bench.run();
  EXPECT_EQ(nodes_of(bench, {"a", "b"}), "a:n1 b:");
}

TEST(Groups, MixedPrioritiesAreAnErrorOfTheGroup) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_group("g", 2);
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "1", "g", R"(,"priority":500)"});
  bench.run();
  const std::string text =
      "all pods in a single pod group should have the same priority as the pod group's priority, got 500 and "
      "0";
  EXPECT_EQ(bench.message_of("a"), text);
  EXPECT_EQ(bench.reason_of("a"), "SchedulerError");
  EXPECT_EQ(bench.group_message("g"), text);
}

TEST(Groups, ASelectorThatFailsIsAnErrorOfTheGroupWithAHintInItsEvents) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_class("gpu", "broken");
  bench.put_slice("s", "n1", 1);
  bench.put_claim("c", "gpu");
  bench.put_group("g", 1);
  bench.put_pod({"a", "1", "g", R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c"}])"});
  bench.run();
  EXPECT_TRUE(bench.message_of("a").ends_with("no such key: nosuch")) << bench.message_of("a");
  EXPECT_EQ(bench.group_message("g"), bench.message_of("a"));
  EXPECT_EQ(bench.event_of("a"), bench.message_of("a") + " pod default/a waits: nearest is 'such'.");
}

TEST(Racks, AllMembersGoToOneRack) {
  TestBench bench;
  bench.put_node(racked("n1", "r1"));
  bench.put_node(racked("n2", "r2"));
  bench.put_node(racked("n3", "r2"));
  bench.put_group("g", 2, "rack");
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "1", "g"});
  bench.run();
  EXPECT_EQ(nodes_of(bench, {"a", "b"}), "a:n2 b:n3");
}

TEST(Racks, TheFullerRackWins) {
  TestBench bench;
  for (const char* name : {"n1", "n2"}) bench.put_node(racked(name, "r1", "4"));
  for (const char* name : {"n3", "n4"}) bench.put_node(racked(name, "r2", "4"));
  bench.put_pod({"busy", "2", "", R"(,"nodeSelector":{"rack":"r2"})"});
  bench.run();
  bench.put_group("g", 2, "rack");
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "1", "g"});
  bench.run();
  EXPECT_TRUE(bench.node_of("a") == "n3" || bench.node_of("a") == "n4") << nodes_of(bench, {"a", "b"});
}

TEST(Racks, NoRackIsBigEnough) {
  TestBench bench;
  bench.put_node(racked("n1", "r1"));
  bench.put_node(racked("n2", "r2"));
  bench.put_node({"n3"});
  bench.put_group("g", 2, "rack");
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "1", "g"});
  bench.run();
  EXPECT_EQ(
      bench.group_message("g"),
      "pod group is unschedulable, 0/2 placements are available, first placement status: minCount (2) cannot "
      "be "
      "satisfied: 1 scheduled, 0 remaining, pod group preemption: No preemption victims found for incoming "
      "preemptor");
  EXPECT_TRUE(bench.event_of("b").ends_with(
      " pod group default/g waits: none of 2 domains of rack takes the 2 more pods it needs; r1 comes "
      "closest with room for 1 by cpu, memory and pod slots; 1 node has no label rack."))
      << bench.event_of("b");
  EXPECT_EQ(bench.message_of("b"), "0/1 nodes are available: 1 Insufficient cpu.");
}

TEST(Racks, NoNodeHasTheLabel) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_group("g", 2, "rack");
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "1", "g"});
  bench.run();
  EXPECT_EQ(bench.message_of("a"), "no feasible placements found");
  EXPECT_EQ(bench.event_of("a"),
            "no feasible placements found pod group default/g waits: no node has the label rack.");
  EXPECT_EQ(bench.group_message("g"),
            "no feasible placements found, pod group preemption: No preemption victims found for incoming "
            "preemptor");
}

TEST(Racks, AGrownGangStaysInItsRack) {
  TestBench bench;
  for (const char* name : {"n1", "n2", "n3"}) bench.put_node(racked(name, "r2", "2"));
  bench.put_group("g", 2, "rack");
  bench.put_pod({"a", "2", "g"});
  bench.put_pod({"b", "2", "g"});
  bench.run();
  bench.commit_gang("g", "a");
  for (int i = 4; i < 9; ++i) bench.put_node(racked("n" + std::to_string(i), "r1", "2"));
  bench.put_pod({"c", "2", "g"});
  bench.put_pod({"d", "2", "g"});
  bench.run();
  EXPECT_EQ(nodes_of(bench, {"c", "d"}), "c:n3 d:");
}

TEST(Racks, LaterMembersGoWhereTheGroupWasPlacedWhateverLabelsSay) {
  TestBench bench;
  bench.put_node(racked("n1", "rack-1-of-a-long-row", "2"));
  bench.put_node(racked("n2", "rack-1-of-a-long-row", "2"));
  bench.put_group("g", 2, "rack");
  bench.put_pod({"a", "2", "g"});
  bench.put_pod({"b", "2", "g"});
  bench.run();
  bench.commit_gang("g", "a");
  bench.put_node(racked("n2", "rack-2-of-a-long-row", "2"));
  bench.put_node(racked("n3", "rack-2-of-a-long-row", "2"));
  bench.put_node(racked("n4", "rack-1-of-a-long-row", "2"));
  bench.put_pod({"c", "1", "g"});
  bench.run();
  EXPECT_EQ(bench.node_of("c"), "n4");
}

// Another scheduler bound them: no domain is recorded.
TEST(Racks, AGroupSpreadOverTwoRacksIsAnError) {
  TestBench bench;
  bench.put_node(racked("n1", "r1", "2"));
  bench.put_node(racked("n2", "r2", "2"));
  bench.put_group("g", 2, "rack");
  bench.put_pod({"a", "2", "g", R"(,"nodeName":"n1")"});
  bench.put_pod({"b", "2", "g", R"(,"nodeName":"n2")"});
  bench.put_pod({"c", "1", "g"});
  bench.run();
  EXPECT_EQ(bench.reason_of("c"), "SchedulerError");
  EXPECT_EQ(bench.message_of("c"),
            "cannot determine domain for already scheduled pods: they span r1 and r2 of rack");
}

TEST(Racks, AMemberOnANodeThatLostItsLabelIsAnError) {
  TestBench bench;
  bench.put_node(racked("n1", "r1", "2"));
  bench.put_group("g", 1, "rack");
  bench.put_pod({"a", "2", "g"});
  bench.run();
  bench.put_node({"n1", "2"});
  bench.put_pod({"b", "1", "g"});
  bench.run();
  EXPECT_EQ(bench.message_of("b"),
            "cannot determine domain for already scheduled pods: no topology domain found for pod default/a, "
            "which was placed in r1 of rack");
}

TEST(Groups, EnoughMembersRunButTheRestDoesNotFit) {
  TestBench bench;
  bench.put_node({"n1", "2"});
  bench.put_group("g", 1);
  bench.put_pod({"a", "2", "g"});
  bench.run();
  bench.bind("a");
  bench.put_pod({"b", "2", "g"});
  bench.run();
  EXPECT_EQ(bench.message_of("b"), "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_TRUE(
      message_of(bench.decisions.records().back())
          .starts_with(
              "pod group is unschedulable, pod group preemption: No preemption victims found for incoming "
              "preemptor "))
      << message_of(bench.decisions.records().back());
  EXPECT_EQ(bench.group_message("g"), "") << "True is never written over";
}

TEST(Groups, TheConditionOfABindUnderWayIsNotWrittenOver) {
  TestBench bench;
  bench.put_node({"n1", "2"});
  bench.put_group("g", 1);
  bench.put_pod({"a", "2", "g"});
  const client::Effects binding = bench.decide();
  bench.put_pod({"b", "2", "g"});
  const client::Effects refusal = bench.decide();
  EXPECT_NE(to_text(refusal).find("default/b"), std::string::npos) << to_text(refusal);
  EXPECT_EQ(to_text(refusal).find("podgroups"), std::string::npos) << to_text(refusal);
  bench.carry_out(binding);
  bench.carry_out(refusal);
  EXPECT_EQ(bench.group_message("g"), "");
}

TEST(Racks, ARackWithoutDevicesIsNotTaken) {
  TestBench bench;
  bench.put_class("gpu", "true");
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "n" + std::to_string(i);
    bench.put_node(racked(name, i <= 2 ? "r1" : "r2", "4"));
    if (i != 2) bench.put_slice("s" + name, name, 1);
  }
  bench.put_group("g", 2, "rack");
  for (const char* pod : {"a", "b"}) {
    bench.put_claim(std::string("c") + pod, "gpu");
    bench.put_pod({pod, "1", "g",
                   std::string(R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c)") + pod + "\"}]"});
  }
  bench.run();
  EXPECT_EQ(nodes_of(bench, {"a", "b"}), "a:n3 b:n4") << bench.group_message("g");
}

TEST(Groups, ARefusedGangLeavesTheLedgerAsItWas) {
  TestBench bench;
  bench.put_class("gpu", "true");
  bench.put_node({"n1"});
  bench.put_slice("s", "n1", 1);
  bench.put_group("g", 2);
  for (const char* pod : {"a", "b"}) {
    bench.put_claim(std::string("c") + pod, "gpu");
    bench.put_pod({pod, "1", "g",
                   std::string(R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c)") + pod + "\"}]"});
  }
  const std::string before = bench.scheduler.cluster().to_text();
  const client::Effects effects = bench.decide();
  EXPECT_FALSE(effects.events.empty());
  EXPECT_EQ(bench.scheduler.cluster().to_text(), before);
  EXPECT_EQ(bench.node_of("a"), "");
}

TEST(Groups, AClaimOfTheGroupIsAllocatedOnceForAllMembers) {
  TestBench bench;
  bench.put_class("gpu", "true");
  bench.put_node({"n1"});
  bench.put_node({"n2"});
  bench.put_slice("s", "n2", 1);
  bench.put_group("g", 2);
  bench.put_claim("c", "gpu");
  for (const char* pod : {"a", "b"})
    bench.put_pod({pod, "1", "g", R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c"}])"});
  bench.run();
  EXPECT_EQ(nodes_of(bench, {"a", "b"}), "a:n2 b:n2") << bench.group_message("g");
  EXPECT_EQ(
      bench.view.bind_requests_of_pod("default", "b").front()->claims.at(0).allocation.results.at(0).device,
      "d0");
}

// The group "g", a member "a", and the group's claim "c": allocated on n1, which has no room for "a", and
// reserved for the group and `others` pods.
void put_claim_of_group(TestBench& bench, int others = 0) {
  bench.put_class("gpu", "true");
  for (const char* name : {"n1", "n2"}) bench.put_node({name});
  for (const char* name : {"n1", "n2"}) bench.put_slice(name, name, 1);
  bench.put(api::Kind::PodGroup, R"({"metadata":{"name":"g","namespace":"default","uid":"uid-g"},"spec":{)"
                                 R"("schedulingPolicy":{"basic":{}},)"
                                 R"("resourceClaims":[{"name":"dev","resourceClaimName":"c"}]}})");
  std::string consumers;
  for (int i = 0; i < others; ++i)
    consumers += R"({"resource":"pods","name":"x","uid":"x)" + std::to_string(i) + R"("},)";
  bench.put(api::Kind::ResourceClaim,
            R"({"metadata":{"name":"c","namespace":"default","uid":"uc"},"spec":{"devices":{"requests":[)"
            R"({"name":"r","exactly":{"deviceClassName":"gpu"}}]}},"status":{"allocation":{"devices":)"
            R"({"results":[{"request":"r","driver":"gpu.example.com","pool":"pool-n1","device":"d0"}]},)"
            R"("nodeSelector":{"nodeSelectorTerms":[{"matchFields":[)"
            R"({"key":"metadata.name","operator":"In","values":["n1"]}]}]}},"reservedFor":[)" +
                consumers +
                R"({"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"g","uid":"uid-g"}]}})");
}
const std::string kSharesIt = R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c"}])";

TEST(GroupClaims, AreDeallocatedOnlyWhenNoMemberIsPlaced) {
  for (const bool placed : {false, true}) {
    TestBench bench;
    put_claim_of_group(bench);
    bench.put_pod({"full", "4", "", R"(,"nodeName":"n1")"});
    if (placed) bench.put_pod({"m", "", "g", R"(,"nodeName":"n1")" + kSharesIt});
    bench.put_pod({"a", "1", "g", kSharesIt});
    bench.run();
    EXPECT_EQ(bench.view.claims.find("default", "c")->allocation.has_value(), placed);
    EXPECT_EQ(bench.node_of("a"), placed ? "" : "n2");
  }
}

TEST(GroupClaims, AreNotDeallocatedForAPodOutsideTheGroup) {
  TestBench bench;
  put_claim_of_group(bench);
  bench.put_pod({"full", "4", "", R"(,"nodeName":"n1")"});
  bench.put_pod({"foreign", "1", "", kSharesIt});
  bench.run();
  EXPECT_EQ(bench.node_of("foreign"), "");
  EXPECT_TRUE(bench.view.claims.find("default", "c")->allocation.has_value());
}

TEST(GroupClaims, AllMembersAreOneConsumer) {
  for (const int others : {255, 256}) {
    TestBench bench;
    put_claim_of_group(bench, others);
    for (const char* pod : {"a", "b", "e"}) bench.put_pod({pod, "1", "g", kSharesIt});
    bench.put_pod({"foreign", "1", "", kSharesIt});
    bench.run();
    EXPECT_EQ(nodes_of(bench, {"a", "b", "e"}), others == 255 ? "a:n1 b:n1 e:n1" : "a: b: e:");
    EXPECT_EQ(bench.node_of("foreign"), "");
  }
}

TEST(GroupClaims, ADecisionRenewsTheReservationOfTheGroupOnce) {
  TestBench bench;
  put_claim_of_group(bench);
  for (const char* pod : {"a", "b"}) bench.put_pod({pod, "1", "g", kSharesIt});
  std::size_t renewals = 0;
  for (const std::string& text : bench.run())
    for (std::size_t at = text.find(client::kKeptForAnnotation); at != std::string::npos;
         at = text.find(client::kKeptForAnnotation, at + 1))
      ++renewals;
  EXPECT_EQ(nodes_of(bench, {"a", "b"}), "a:n1 b:n1");
  EXPECT_EQ(renewals, 1u);
}

TEST(Groups, AnUndoneGangGivesEverythingBackAndComesAgain) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_group("g", 2);
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "1", "g"});
  const std::string before = bench.scheduler.cluster().to_text();
  const client::Effects effects = bench.decide();
  client::Outcome outcome{effects.decision_id, {}};
  for (const client::Chain& chain : effects.chains)
    outcome.chains.push_back({chain.key, chain.key.name[0] == 'a', 1, {}});
  bench.scheduler.on_outcome(bench.view, outcome, bench.now);
  EXPECT_EQ(bench.scheduler.cluster().to_text(), before);
  bench.now = bench.now + Duration::seconds(1);
  bench.run();
  EXPECT_EQ(nodes_of(bench, {"a", "b"}), "a:n1 b:n1");
}

TEST(Groups, AGangThatWasNotWrittenInFullIsDecidedAgainAsAWhole) {
  TestBench before;
  before.put_node({"n1"});
  before.put_group("g", 2);
  for (const char* pod : {"a", "b"}) before.put_pod({pod, "1", "g"});
  before.run();
  // The process ended between the two BindRequests.
  TestBench after;
  after.put_node({"n1"});
  after.put_group("g", 2);
  const std::string request = *before.view.bind_requests.find("default", "a-uid-a")->raw;
  after.put(api::Kind::BindRequest, request);
  for (const char* pod : {"a", "b"}) after.put_pod({pod, "1", "g"});
  after.run();
  EXPECT_EQ(nodes_of(after, {"a", "b"}), "a:n1 b:") << "b waits for what becomes of a";
  Json failed = *parse_json(request);
  failed["metadata"]["resourceVersion"] = "1000";
  failed["status"] = Json::object({{"phase", "Failed"}, {"failedAttempts", 9}, {"reason", "GangIncomplete"}});
  after.put(api::Kind::BindRequest, to_string(failed));
  after.run();
  EXPECT_EQ(nodes_of(after, {"a", "b"}), "a:n1 b:n1");
  EXPECT_EQ(after.decisions.records().back().placed.size(), 2u);
}

TEST(Groups, AGangWhoseRequestsFailedComesBackTogether) {
  TestBench bench;
  for (const char* name : {"n1", "n2", "n3", "n4"}) bench.put_node({name, "1"});
  bench.put_group("g", 2);
  for (const char* pod : {"a", "b"}) bench.put_pod({pod, "1", "g"});
  bench.run();
  ASSERT_EQ(nodes_of(bench, {"a", "b"}), "a:n1 b:n2");
  std::vector<std::string> failed;
  for (const auto& [key, request] : bench.view.bind_requests.all()) failed.push_back(*request->raw);
  for (const std::string& raw : failed) {
    Json request = *parse_json(raw);
    request["status"] = Json::object({{"phase", "Failed"}, {"failedAttempts", 9}});
    bench.put(api::Kind::BindRequest, to_string(request));
  }
  bench.run();
  // Each pod avoids only its own node.
  EXPECT_EQ(nodes_of(bench, {"a", "b"}), "a:n2 b:n1");
  EXPECT_TRUE(bench.events.empty()) << bench.events.front().message;
}

// A brute-force judge: a gang of equal pods is placed if and only if some rack has room for all of it.
TEST(RackJudge, AFeasibleRackIsFoundExactlyWhenThereIsOne) {
  EXPECT_TRUE(rc::check("a rack is found iff one exists", [] {
    TestBench bench;
    std::map<std::string, int> room;
    const int nodes = *rc::gen::inRange(1, 8);
    const int request = *rc::gen::inRange(1, 4);
    for (int i = 0; i < nodes; ++i) {
      const std::string rack = *rc::gen::elementOf(std::vector<std::string>{"", "r1", "r2", "r3"});
      const int cpu = *rc::gen::inRange(0, 7), slots = *rc::gen::inRange(0, 4);
      const bool cordoned = *rc::gen::inRange(0, 6) == 0;
      NodeSpec spec{"n" + std::to_string(i), std::to_string(cpu), "8Gi", std::to_string(slots)};
      if (!rack.empty()) spec.labels["rack"] = rack;
      if (cordoned) spec.spec = R"({"unschedulable":true})";
      bench.put_node(spec);
      if (!rack.empty() && !cordoned) room[rack] += std::min(cpu / request, slots);
    }
    const int size = *rc::gen::inRange(1, 6);
    bench.put_group("g", size, "rack");
    std::vector<std::string> pods;
    for (int i = 0; i < size; ++i) {
      pods.push_back("p" + std::to_string(i));
      bench.put_pod({pods.back(), std::to_string(request), "g"});
    }
    bench.run();
    const bool expected =
        std::any_of(room.begin(), room.end(), [&](const auto& one) { return one.second >= size; });
    std::set<std::string> racks;
    for (const std::string& pod : pods) {
      const std::string node = bench.node_of(pod);
      RC_ASSERT(!node.empty() == expected);
      if (expected) racks.insert(bench.view.nodes.find("", node)->meta.labels.find("rack")->second);
    }
    if (!expected) return;
    RC_ASSERT(racks.size() == 1u);
    RC_ASSERT(room.at(*racks.begin()) >= size);
  }));
}

// Rack "a" has room for one member or no devices, rack "b" for two: the words are about "b".
TEST(PodGroups, AMemberIsToldOfThePlacementThatTakesMost) {
  for (const bool tried : {false, true}) {
    TestBench bench;
    bench.put_class("gpu.example.com", "true");
    const std::string cpu = tried ? "8" : "1";
    bench.put_node({.name = "a1", .cpu = cpu, .labels = {{"rack", "a"}}});
    bench.put_node({.name = "b1", .cpu = cpu, .labels = {{"rack", "b"}}});
    bench.put_node({.name = "b2", .cpu = cpu, .labels = {{"rack", "b"}}});
    if (tried) bench.put_slice("s", "b1", 2);
    bench.put_group("g", 3, "rack");
    for (const std::string name : {"x", "y", "z"}) {
      if (tried) bench.put_claim(name, "gpu.example.com");
      bench.put_pod(
          {name, "1", "g",
           tried ? R"(,"resourceClaims":[{"name":"dev","resourceClaimName":")" + name + "\"}]" : ""});
    }
    bench.run();
    const std::string of_b = tried ? "pod default/z waits: in b 2 of 2 nodes have no devices for its claims"
                                   : "pod default/z waits: in b 2 of 2 nodes lack cpu";
    EXPECT_NE(bench.event_of("z").find(of_b), std::string::npos) << bench.event_of("z");
    const std::string of_group = tried ? "it needs; cpu, memory and pod slots would suffice."
                                       : "it needs; b comes closest with room for 2";
    EXPECT_NE(bench.event_of("z").find(of_group), std::string::npos) << bench.event_of("z");
    const placement::Refusal& refusal = *bench.decisions.records().back().refusal;
    ASSERT_EQ(refusal.members.size(), 1u) << "x and y fit there";
    EXPECT_EQ(refusal.members.front()->of.name, "z");
    // Kubernetes' words are about the first placement.
    EXPECT_TRUE(bench.message_of(tried ? "x" : "y").starts_with("0/1 nodes are available: 1 "));
  }
}

}  // namespace
}  // namespace berth::scheduling
