#include "binding/binder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/types/device_readiness.h"
#include "api/types/gang_decision.h"
#include "binding/dynamic_resources.h"
#include "binding/request_status.h"
#include "binding/reservation.h"
#include "binding/testing/binder_fixture.h"
#include "client/claim_writes.h"

namespace berth::binding {
namespace {

using api::Kind;
using testing::add_claim;
using testing::BinderFixture;
using testing::claim_key;
using testing::InjectedFault;
using testing::kNodeN1;
using testing::pod_key;
using testing::request_key;

constexpr Duration kRetryMax = Duration::millis(100);  // more than the engine's first backoff of a key

// Without conditions.
std::string status_text(const BinderFixture& cluster, const api::ObjectKey& key) {
  const Json* object = cluster.find(key);
  if (!object || !object->find("status")) return "";
  Json status = object->part("status");
  status.as_object().erase("conditions");
  return to_string(status);
}

// "True Bound", or "" without the condition Bound.
std::string bound_text(const BinderFixture& cluster, const std::string& name) {
  const auto& conditions = cluster.view().bind_requests.find("d", name)->conditions;
  const api::Condition* bound = api::find_condition(conditions, api::kBound);
  return bound ? bound->status + " " + bound->reason : "";
}

// A pod with a BindRequest for node n1; `claims` names its claims, one device each.
void add_pod(BinderFixture& cluster, const std::string& name, const std::vector<std::string>& claims,
             const std::string& spec_extra = "") {
  std::string used, allocations;
  for (const std::string& claim : claims) {
    used += std::string(used.empty() ? "" : ",") + R"({"name":")" + claim + R"(","resourceClaimName":")" +
            claim + R"("})";
    allocations +=
        std::string(allocations.empty() ? "" : ",") + R"({"name":")" + claim + R"(","claimName":")" + claim +
        R"(","claimUID":"u-)" + claim +
        R"(","allocation":{"devices":{"results":[{"request":"r","driver":"drv","pool":"pool","device":")" +
        claim + R"(","bindingConditions":["Attached"],"bindingFailureConditions":["Broken"]}]}}})";
  }
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name +
                             R"("},"spec":{"resourceClaims":[)" + used + "]}}");
  cluster.put(Kind::BindRequest, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"b-)" + name +
                                     R"("},"spec":{"podName":")" + name + R"(","podUID":"u-)" + name +
                                     R"(","selectedNode":"n1")" + spec_extra +
                                     R"(,"resourceClaimAllocations":[)" + allocations + "]}}");
}

void add_group(BinderFixture& cluster, int minimum) {
  cluster.put(Kind::PodGroup,
              R"({"metadata":{"namespace":"d","name":"g","uid":"u-g"},"spec":{"schedulingPolicy":
      {"gang":{"minCount":)" +
                  std::to_string(minimum) + "}}}}");
}

// A node, the gang "g" and its members "a" and "b" without claims, in a decision "x" with `size` members.
void add_gang_of_two(BinderFixture& cluster, int size) {
  cluster.put(Kind::Node, kNodeN1);
  add_group(cluster, 2);
  const std::string gang = R"(,"decisionID":"x","group":{"name":"g","size":)" + std::to_string(size) + "}";
  add_pod(cluster, "a", {}, gang);
  add_pod(cluster, "b", {}, gang);
}

TEST(Binder, BindsAPlainPodWithTwoWritesAndOneEvent) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_pod(cluster, "p", {});
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"create pods p/binding", "patch bindrequests p/status"}));
  EXPECT_EQ(status_text(cluster, request_key("p")), R"({"phase":"Succeeded","step":"Bound"})");
  ASSERT_EQ(cluster.events.size(), 1u);
  EXPECT_EQ(cluster.events[0].reason, "Scheduled");
  EXPECT_EQ(cluster.events[0].message, "Successfully assigned d/p to n1");
}

std::string told_node(const BinderFixture& cluster, const std::string& pod) {
  const Json* told = cluster.find(pod_key(pod))->find_path({"metadata", "annotations", testing::kTold});
  return told ? told->as_string() : "";
}

const std::vector<std::string> kBoundAndTold = {"create pods p/binding", "patch pods p",
                                                "patch bindrequests p/status"};

TEST(PostBind, ItsWritesComeBetweenTheBindingAndTheSuccess) {
  BinderFixture cluster(testing::with_telling_plugin());
  cluster.put(Kind::Node, kNodeN1);
  add_pod(cluster, "p", {});
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.log, kBoundAndTold);
  EXPECT_EQ(told_node(cluster, "p"), "n1");
  cluster.crash();
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.log, kBoundAndTold);
}

// The process ends before the n-th write is sent, while it is on its way, or before its answer.
TEST(PostBind, IsCarriedOutWhereverTheProcessEnds) {
  for (std::size_t nth = 0; nth < kBoundAndTold.size(); ++nth)
    for (const InjectedFault fault : {InjectedFault::None, InjectedFault::LostDone,
                                      InjectedFault::LostNotDone, InjectedFault::ServerError}) {
      BinderFixture cluster(testing::with_telling_plugin());
      cluster.put(Kind::Node, kNodeN1);
      add_pod(cluster, "p", {});
      cluster.deliver();
      for (std::size_t i = 0; i < nth; ++i) cluster.answer(0);
      if (fault != InjectedFault::None) cluster.answer(0, fault);
      cluster.crash();
      cluster.run_until_idle(cluster.now() + kRetryMax);
      EXPECT_EQ(told_node(cluster, "p"), "n1") << nth;
      EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->phase, api::BindPhase::Succeeded) << nth;
      const auto told = std::count(cluster.log.begin(), cluster.log.end(), "patch pods p");
      EXPECT_LE(told, fault == InjectedFault::ServerError ? 3 : 2) << nth;
    }
}

TEST(PostBind, WritesThatAreRefusedAreGivenUp) {
  BinderFixture cluster(testing::with_telling_plugin());
  cluster.put(Kind::Node, kNodeN1);
  add_pod(cluster, "p", {});
  cluster.deliver();
  cluster.answer("create pods p/binding");
  for (std::uint32_t attempt = 0; attempt < kPostBindAttemptsMax; ++attempt) {
    EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->phase, api::BindPhase::Pending);
    cluster.answer("patch pods p", InjectedFault::Refused);
    cluster.advance_to(cluster.now() + Duration::seconds(30));
    cluster.deliver();
  }
  cluster.run_until_idle(cluster.now() + kRetryMax);
  EXPECT_EQ(told_node(cluster, "p"), "");
  const api::BindRequest& request = *cluster.view().bind_requests.find("d", "p");
  EXPECT_EQ(request.phase, api::BindPhase::Succeeded);
  const api::Condition* given_up = api::find_condition(request.conditions, api::kPostBindCompleted);
  ASSERT_NE(given_up, nullptr);
  EXPECT_EQ(given_up->status, "False");
  EXPECT_FALSE(given_up->message.empty());
  ASSERT_EQ(cluster.events.size(), 2u);
  EXPECT_EQ(cluster.events[1].reason, "PostBindFailed");
}

TEST(PostBind, ARequestInMemoryBecomesAnObjectFirst) {
  BinderFixture cluster(testing::with_telling_plugin(), testing::Requests::InMemory);
  cluster.put(Kind::Node, kNodeN1);
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"},"spec":{}})");
  cluster.deliver();
  cluster.decide(R"({"metadata":{"namespace":"d","name":"p"},"spec":{"podName":"p","podUID":"u-p",
      "selectedNode":"n1"}})");
  cluster.run_until_idle(cluster.now());
  std::vector<std::string> log = {"create bindrequests p", "patch bindrequests p/status"};
  log.insert(log.end(), kBoundAndTold.begin(), kBoundAndTold.end());
  EXPECT_EQ(cluster.log, log);
}

// A request whose claim "c" has a device without conditions that takes 2 cpu of the node.
void add_taking_pod(BinderFixture& cluster, const std::string& name) {
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name +
                             R"("},"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"c"}]}})");
  cluster.put(Kind::BindRequest, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"b-)" + name +
                                     R"("},"spec":{"podName":")" + name + R"(","podUID":"u-)" + name +
                                     R"(","selectedNode":"n1","resourceClaimAllocations":[{"name":"c",
    "claimName":"c","claimUID":"u-c","allocation":{"devices":{"results":[
    {"request":"r","driver":"drv","pool":"pool","device":"cpus"}]}}}],
    "nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"c","containers":["a"],
    "mapping":[{"name":"cpu","quantity":"2"}]}]}})");
}
const char* const kTaken =
    R"({"nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"c","containers":["a"],)"
    R"("mapping":[{"name":"cpu","quantity":"2"}]}]})";

TEST(Binder, ThePodsStatusHasNodeAllocatableBeforeTheBinding) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_taking_pod(cluster, "p");
  cluster.on_write = [&](const client::ApiRequest& request) {
    EXPECT_TRUE(request.subresource != "binding" || status_text(cluster, pod_key("p")) == kTaken);
  };
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"patch resourceclaims c", "patch resourceclaims c/status",
                                                   "patch pods p/status", "create pods p/binding",
                                                   "patch bindrequests p/status"}));
}

// Runs to the binding, answers it with `fault`, and runs to the end.
void run_with(BinderFixture& cluster, InjectedFault fault) {
  cluster.deliver();
  while (cluster.in_flight() > 0) {
    const bool told = !cluster.log.empty() && cluster.log.back() == "patch pods p/status";
    cluster.answer(0, told ? fault : InjectedFault::None);
    if (told) break;
  }
  cluster.run_until_idle(cluster.now() + Duration::seconds(600));
}

TEST(Binder, ARefusedBindingClearsNodeAllocatableInThePodsStatus) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_taking_pod(cluster, "p");
  run_with(cluster, InjectedFault::Refused);
  EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "p")));
  EXPECT_TRUE(cluster.view().pods.find("d", "p")->node_allocatable.empty());
  EXPECT_EQ(cluster.view().pods.find("d", "p")->conditions.front().reason, "SchedulerError");
  EXPECT_EQ(status_text(cluster, claim_key("c")), "{}");
}

TEST(Binder, ALostBindingIsRepeatedWithoutASecondWriteToThePodsStatus) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_taking_pod(cluster, "p");
  run_with(cluster, InjectedFault::LostNotDone);
  EXPECT_EQ(std::count(cluster.log.begin(), cluster.log.end(), "patch pods p/status"), 1);
  EXPECT_EQ(std::count(cluster.log.begin(), cluster.log.end(), "create pods p/binding"), 1);
  EXPECT_EQ(status_text(cluster, pod_key("p")), kTaken);
}

TEST(Binder, AMappedClaimIsNotShared) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c",
            R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv","pool":"pool",
            "device":"cpus"}]}},"reservedFor":[{"resource":"pods","name":"q","uid":"u-q"}]})");
  add_taking_pod(cluster, "p");
  cluster.run_until_idle(cluster.now());
  const api::BindRequest& request = *cluster.view().bind_requests.find("d", "p");
  EXPECT_EQ(request.reason, "ClaimNotShareable");
  EXPECT_TRUE(api::failed_for_good(request));
}

const char* const kReady = R"({"status":{"devices":[{"driver":"drv","pool":"pool","device":"c",
    "conditions":[{"type":"Attached","status":"True"}]}]}})";

// The pod "p", decided for n1, with the claim "c", whose device has binding conditions.
struct PodWithClaim : BinderFixture {
  PodWithClaim() {
    put(Kind::Node, kNodeN1);
    add_claim(*this, "c");
    add_pod(*this, "p", {"c"});
  }
};

TEST(Binder, ReservesAClaimWithItsFinalizerFirst) {
  PodWithClaim cluster;
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"patch resourceclaims c", "patch resourceclaims c/status",
                                                   "patch bindrequests p/status"}));
  EXPECT_EQ(
      status_text(cluster, claim_key("c")),
      R"({"allocation":{"devices":{"results":[{"request":"r","driver":"drv","pool":"pool","device":"c",)"
      R"("bindingConditions":["Attached"],"bindingFailureConditions":["Broken"]}]},)"
      R"("allocationTimestamp":"1970-01-12T13:46:40Z"},)"
      R"("reservedFor":[{"resource":"pods","name":"p","uid":"u-p"}]})");
  EXPECT_EQ(status_text(cluster, request_key("p")),
            R"({"step":"WaitingForDevices","message":"waiting for binding conditions for device on node n1",)"
            R"("phase":"Pending"})");
  ASSERT_EQ(cluster.events.size(), 1u);
  EXPECT_EQ(cluster.events[0].reason, "BindingConditionsPending");
  EXPECT_EQ(cluster.events[0].action, "Scheduling");

  cluster.change(claim_key("c"), kReady);
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(status_text(cluster, request_key("p")), R"({"step":"Bound","phase":"Succeeded"})");
}

TEST(Binder, AFailedConditionGivesTheClaimBack) {
  PodWithClaim cluster;
  cluster.run_until_idle(cluster.now());
  cluster.change(claim_key("c"),
                 R"({"status":{"devices":[{"driver":"drv","pool":"pool","device":"c","conditions":[
      {"type":"Attached","status":"True"},
      {"type":"Broken","status":"True","reason":"Cable","message":"no \"link\""}]
      }]}})");
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(status_text(cluster, claim_key("c")), "{}");
  EXPECT_EQ(status_text(cluster, request_key("p")),
            R"({"step":"RolledBack","message":"binding of pod d/p to node n1 failed: device binding failed: )"
            R"(claim=c, reason=Cable, message=\"no \\\"link\\\"\": )"
            R"(condition Broken of device drv/pool/c on node n1 is True",)"
            R"("phase":"Failed","reason":"BindingConditionsFailed",)"
            R"("failureClass":"OtherPlacement","terminal":true})");
  EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "p")));
}

TEST(Binder, ABenignFailureConditionAsksForAnotherDecisionAlone) {
  BinderFixture cluster({.benign_failure_conditions = {"Broken"}});
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_pod(cluster, "p", {"c"});
  cluster.run_until_idle(cluster.now());
  cluster.change(claim_key("c"), R"({"status":{"devices":[{"driver":"drv","pool":"pool","device":"c",
      "conditions":[{"type":"Broken","status":"True","reason":"Moved"}]}]}})");
  cluster.run_until_idle(cluster.now() + kRetryMax);
  const api::BindRequest& request = *cluster.view().bind_requests.find("d", "p");
  EXPECT_EQ(request.reason, api::kBenignConditionsFailed);
  EXPECT_TRUE(api::is_blameless(request.reason));
  EXPECT_TRUE(api::failed_for_good(request));
}

TEST(Binder, ConditionsTimeOutFromTheAllocationOnEvenAcrossACrash) {
  PodWithClaim cluster;
  const Time start = cluster.now();
  cluster.run_until_idle(start + Duration::seconds(300));
  cluster.advance_to(start + Duration::seconds(400));
  cluster.crash();
  cluster.run_until_idle(start + Duration::seconds(599));
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->phase, api::BindPhase::Pending);
  cluster.run_until_idle(start + Duration::seconds(600));
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->reason, "BindingTimeout");
  EXPECT_EQ(status_text(cluster, claim_key("c")), "{}");
}

std::string nominated_node(const BinderFixture& cluster, const std::string& pod) {
  return std::string(cluster.find(pod_key(pod))->part("status").string_at("nominatedNodeName"));
}
const char* const kBroken = R"({"status":{"devices":[{"driver":"drv","pool":"pool","device":"c",
    "conditions":[{"type":"Broken","status":"True"}]}]}})";

TEST(Nominations, APodThatWaitsNamesItsNodeUntilThePlacementIsGivenUp) {
  PodWithClaim cluster;
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(nominated_node(cluster, "p"), "") << "devices that are attached at once cost no write";
  cluster.run_until_idle(cluster.now() + kQuietNomination);
  EXPECT_EQ(nominated_node(cluster, "p"), "n1");
  const std::size_t writes = cluster.log.size();
  cluster.crash();
  cluster.run_until_idle(cluster.now() + Duration::seconds(300));
  EXPECT_EQ(cluster.log.size(), writes) << "once";
  cluster.change(claim_key("c"), kBroken);
  cluster.on_write = [&](const client::ApiRequest&) {
    const api::BindRequest* request = cluster.view().bind_requests.find("d", "p");
    EXPECT_TRUE(!api::failed_for_good(*request) || nominated_node(cluster, "p").empty());
  };
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->step, api::BindStep::RolledBack);
  EXPECT_EQ(nominated_node(cluster, "p"), "");
}

TEST(Nominations, AMemberThatWaitsForItsGangNamesItsNodeAndAReadyGangCostsNoWrite) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_group(cluster, 2);
  const std::string gang = R"(,"decisionID":"x","group":{"name":"g","size":2})";
  add_pod(cluster, "a", {}, gang);
  add_pod(cluster, "b", {"c"}, gang);
  cluster.run_until_idle(cluster.now() + kQuietGangWait + kQuietNomination);
  EXPECT_EQ(nominated_node(cluster, "a"), "n1");
  BinderFixture ready;
  add_gang_of_two(ready, 2);
  ready.run_until_idle(ready.now() + Duration::seconds(10));
  EXPECT_EQ(std::count(ready.log.begin(), ready.log.end(), "patch pods a/status"), 0);
}

TEST(Nominations, ARefusedWriteBacksOffAndIsNoFailedBinding) {
  PodWithClaim cluster;
  cluster.run_until_idle(cluster.now());
  cluster.advance_to(cluster.now() + kQuietNomination);
  cluster.deliver();
  cluster.answer("patch pods p/status", InjectedFault::Refused);
  cluster.run_until_idle(cluster.now() + Duration::millis(900));
  EXPECT_EQ(nominated_node(cluster, "p"), "") << "not at once";
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->failed_attempts, 0);
  cluster.change(claim_key("c"), kReady);
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->step, api::BindStep::Bound);
}

TEST(Nominations, WritesForManyPodsAreSpreadOverTime) {
  Nominations nominations;
  api::Pod pod;
  const Time now = Time::from_seconds(10);
  Time previous;
  for (int i = 0; i < 300; ++i) {
    NominationRecord record;
    client::Effects effects;
    nominations.add(pod, "n", record, now, effects);
    ASSERT_TRUE(effects.wake_at && effects.chains.empty());
    EXPECT_GT(*effects.wake_at, previous);
    previous = *effects.wake_at;
  }
  EXPECT_GE(previous, now + Duration::millis(299'000 / kNominationsPerSecondMax));
}

// A gang "g" of two that share its claim "c" under the name "c".
void add_sharing_gang(BinderFixture& cluster) {
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  cluster.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g","uid":"u-g"},"spec":{
      "schedulingPolicy":{"gang":{"minCount":2}},
      "resourceClaims":[{"name":"c","resourceClaimName":"c"}]}})");
  const std::string gang = R"(,"decisionID":"x","group":{"name":"g","uid":"u-g","size":2})";
  for (const char* name : {"a", "b"}) add_pod(cluster, name, {"c"}, gang);
}
const char* const kForTheGroup =
    R"("reservedFor":[{"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"g","uid":"u-g"}])";

TEST(GroupClaims, AreReservedForThePodGroupOnceWhoeverOpensThem) {
  BinderFixture cluster;
  add_sharing_gang(cluster);
  cluster.run_until_idle(cluster.now());
  EXPECT_NE(status_text(cluster, claim_key("c")).find(kForTheGroup), std::string::npos);
  cluster.change(claim_key("c"), kReady);
  cluster.run_until_idle(cluster.now());
  for (const char* name : {"a", "b"})
    EXPECT_EQ(cluster.view().bind_requests.find("d", name)->step, api::BindStep::Bound);
  EXPECT_NE(status_text(cluster, claim_key("c")).find(kForTheGroup), std::string::npos);
  EXPECT_EQ(std::count(cluster.log.begin(), cluster.log.end(), "patch resourceclaims c/status"), 1);
}

TEST(GroupClaims, AMemberThatFailsLeavesTheReservationToTheOthers) {
  BinderFixture cluster;
  add_sharing_gang(cluster);
  cluster.run_until_idle(cluster.now());
  cluster.change(request_key("a"), R"({"spec":{"withdrawn":true}})");
  cluster.run_until_idle(cluster.now());
  EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "a")));
  EXPECT_NE(status_text(cluster, claim_key("c")).find(kForTheGroup), std::string::npos);
}

TEST(GroupClaims, AnEntryOfTheSameNameForAnotherClaimIsThePodsOwn) {
  BinderFixture cluster;
  add_sharing_gang(cluster);
  cluster.change({Kind::PodGroup, "d", "g", {}},
                 R"({"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"other"}]}})");
  cluster.run_until_idle(cluster.now() + Duration::seconds(3));
  const api::ResourceClaim* claim = cluster.view().claims.find("d", "c");
  EXPECT_TRUE(claim->reserved_by("u-a") && claim->reserved_by("u-b"));
  EXPECT_FALSE(claim->reserved_by("u-g"));
}

TEST(Binder, AGangIsBoundOnceEveryMemberIsPrepared) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_group(cluster, 3);
  const std::string gang = R"(,"decisionID":"x","group":{"name":"g","size":3})";
  add_pod(cluster, "a", {}, gang);
  add_pod(cluster, "b", {"c"}, gang);
  cluster.run_until_idle(cluster.now());
  add_pod(cluster, "e", {}, gang);
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.find(pod_key("a"))->find_path({"spec", "nodeName"}), nullptr);
  cluster.change(claim_key("c"), kReady);
  cluster.run_until_idle(cluster.now());
  for (const char* name : {"a", "b", "e"}) {
    EXPECT_NE(cluster.find(pod_key(name))->find_path({"spec", "nodeName"}), nullptr) << name;
    EXPECT_EQ(cluster.view().bind_requests.find("d", name)->step, api::BindStep::Bound);
  }
  EXPECT_EQ(api::gang_outcome(*cluster.view().pod_groups.find("d", "g"), "x"), api::GangOutcome::Committed);
}

std::string condition_text(const BinderFixture& cluster, std::string_view type) {
  const api::Condition* found =
      api::find_condition(cluster.view().pod_groups.find("d", "g")->conditions, type);
  return found ? found->status + "/" + found->reason + "/" + found->message : "";
}

TEST(Binder, ACommitTellsInTheSameWriteThatTheGroupIsScheduled) {
  BinderFixture cluster;
  add_gang_of_two(cluster, 2);
  cluster.change({Kind::PodGroup, "d", "g", {}}, R"({"status":{"conditions":[
      {"type":"DisruptionTarget","status":"False","reason":"Other","message":"words"},
      {"type":"PodGroupInitiallyScheduled","status":"False","reason":"Unschedulable","message":"full"}]}})");
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(std::count(cluster.log.begin(), cluster.log.end(), "patch podgroups g/status"), 1);
  EXPECT_EQ(std::count(cluster.log.begin(), cluster.log.end(), "patch podgroups g"), 0);
  EXPECT_EQ(condition_text(cluster, api::kGangCommitted), "True/Committed/x");
  EXPECT_EQ(condition_text(cluster, api::kGroupScheduled), "True/Scheduled/");
  EXPECT_EQ(condition_text(cluster, "DisruptionTarget"), "False/Other/words");
}

TEST(Binder, AnAbortedDecisionSaysNothingOfTheGroup) {
  BinderFixture cluster;
  add_gang_of_two(cluster, 2);
  cluster.change(request_key("a"), R"({"spec":{"withdrawn":true}})");
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(condition_text(cluster, api::kGangCommitted), "False/Aborted/x");
  EXPECT_EQ(condition_text(cluster, api::kGroupScheduled), "");
}

// Somebody else wrote to the group meanwhile.
TEST(Binder, ACommitThatMeetsAConflictIsRepeatedAtOnce) {
  BinderFixture cluster;
  add_gang_of_two(cluster, 2);
  cluster.deliver();
  cluster.change({Kind::PodGroup, "d", "g", {}}, R"({"metadata":{"labels":{"seen":"yes"}}})");
  cluster.answer("patch podgroups g/status");
  EXPECT_EQ(condition_text(cluster, api::kGangCommitted), "");
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(condition_text(cluster, api::kGangCommitted), "True/Committed/x");
}

// The register holds one outcome, also while that is an annotation.
TEST(Binder, ADecisionWaitsForTheMembersOfOneThatAnEarlierReleaseCommitted) {
  BinderFixture cluster;
  add_gang_of_two(cluster, 2);
  cluster.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g","uid":"u-g","annotations":{)"
                              R"("scheduling.berth.dev/decision":"Committed x"}},)"
                              R"("spec":{"schedulingPolicy":{"gang":{"minCount":2}}}})");
  const std::string next = R"(,"decisionID":"y","group":{"name":"g","size":2})";
  for (const char* name : {"e", "f"}) add_pod(cluster, name, {}, next);
  cluster.deliver();
  EXPECT_EQ(cluster.decide({Kind::PodGroup, "d", "g", {}}).chains.size(), 0u) << "members of x are not bound";
  cluster.run_until_idle(cluster.now());
  for (const char* name : {"a", "b", "e", "f"})
    EXPECT_EQ(cluster.view().bind_requests.find("d", name)->step, api::BindStep::Bound) << name;
  EXPECT_EQ(condition_text(cluster, api::kGangCommitted), "True/Committed/y");
}

TEST(Binder, AMemberThatFailsTakesTheOthersOnlyBelowTheMinimum) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "f", R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv",
      "pool":"pool","device":"other"}]}}})");
  add_group(cluster, 2);
  const std::string gang = R"(,"decisionID":"x","group":{"name":"g","size":3})";
  add_pod(cluster, "a", {}, gang);
  add_pod(cluster, "b", {"f"}, gang);
  add_pod(cluster, "e", {}, gang);
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.view().bind_requests.find("d", "a")->step, api::BindStep::Bound);
  EXPECT_EQ(cluster.view().bind_requests.find("d", "e")->step, api::BindStep::Bound);
  EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "b")));
}

TEST(Binder, AGangWaitsForItsRequestsAsLongAsTheyComeAndThenForItsTimeout) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_group(cluster, 3);
  const std::string gang = R"(,"decisionID":"x","group":{"name":"g","size":3})";
  for (const char* name : {"a", "b", "e"})
    cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + std::string(name) + R"(","uid":"u-)" +
                               name + R"("},"spec":{"schedulingGroup":{"podGroupName":"g"}}})");
  const auto ask = [&](const std::string& name) {
    cluster.put(Kind::BindRequest, R"({"metadata":{"namespace":"d","name":")" + name +
                                       R"("},"spec":{"podName":")" + name + R"(","podUID":"u-)" + name +
                                       R"(","selectedNode":"n1")" + gang + "}}");
  };
  const Duration patience = BinderOptions{}.gang_timeout - Duration::seconds(1);
  const Time start = cluster.now();
  ask("a");
  cluster.run_until_idle(start + patience);
  cluster.advance_to(start + patience);
  ask("b");
  cluster.run_until_idle(start + patience + patience);
  EXPECT_FALSE(api::failed_for_good(*cluster.view().bind_requests.find("d", "a")));
  cluster.run_until_idle(start + patience + patience + Duration::seconds(2));
  EXPECT_EQ(cluster.view().bind_requests.find("d", "a")->reason, api::kGangIncomplete);
  EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "b")));
}

TEST(Binder, AGangThatLostAMemberIsBoundWithThoseThatAreLeft) {
  BinderFixture cluster;
  add_gang_of_two(cluster, 3);
  cluster.run_until_idle(cluster.now() + kInformerLagGrace);
  for (const char* name : {"a", "b"})
    EXPECT_EQ(cluster.view().bind_requests.find("d", name)->step, api::BindStep::Bound) << name;
}

TEST(Binder, AWithdrawnDecisionIsGivenBackAndMayBeReplaced) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_group(cluster, 2);
  add_pod(cluster, "a", {"c"}, R"(,"decisionID":"x","group":{"name":"g","size":2})");
  cluster.run_until_idle(cluster.now());
  ASSERT_NE(status_text(cluster, claim_key("c")), "");
  cluster.change(request_key("a"), R"({"spec":{"withdrawn":true}})");
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(status_text(cluster, claim_key("c")), "{}");
  EXPECT_EQ(cluster.view().bind_requests.find("d", "a")->reason, "Withdrawn");
  cluster.change(pod_key("a"), R"({"spec":{"resourceClaims":null}})");
  // As on a server that keeps the status when another decision replaces the spec.
  cluster.change(
      request_key("a"),
      R"({"spec":{"withdrawn":null,"decisionID":"y","group":null,"resourceClaimAllocations":null}})");
  cluster.deliver();
  EXPECT_EQ(cluster.view().bind_requests.find("d", "a")->phase, api::BindPhase::Pending);
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.view().bind_requests.find("d", "a")->step, api::BindStep::Bound);
  const std::string status = status_text(cluster, request_key("a"));
  EXPECT_EQ(status.find("terminal"), std::string::npos) << status;
}

constexpr const char* kLeaseName = "berth-scheduler";

std::string of_lease(std::string_view name, std::string_view uid, int epoch) {
  return R"(,"decisionID":"x)" + std::to_string(epoch) + R"(","schedulerName":"berth","epoch":)" +
         std::to_string(epoch) + R"(,"lease":{"namespace":"kube-system","name":")" + std::string(name) +
         R"(","uid":")" + std::string(uid) + R"("})";
}

std::string term(int epoch) {
  return of_lease(kLeaseName, "u1", epoch);
}

// The scheduler's Lease, at the beginning of this term.
void put_lease(BinderFixture& cluster, int epoch, std::string_view uid = "u1",
               std::string_view name = kLeaseName) {
  cluster.put(Kind::Lease, R"({"metadata":{"namespace":"kube-system","name":")" + std::string(name) +
                               R"(","uid":")" + std::string(uid) + R"("},"spec":{"leaseTransitions":)" +
                               std::to_string(epoch - 1) + "}}");
}

void remove_lease(BinderFixture& cluster) {
  cluster.remove({Kind::Lease, "kube-system", kLeaseName, {}});
}

void settle(BinderFixture& cluster) {
  cluster.run_until_idle(cluster.now() + Duration::seconds(2));
}

std::string failure_of(const BinderFixture& cluster, const std::string& name) {
  const api::BindRequest* request = cluster.view().bind_requests.find("d", name);
  return request ? request->reason : "gone";
}

bool binds(const BinderFixture& cluster, const std::string& name) {
  const api::BindRequest* request = cluster.view().bind_requests.find("d", name);
  return request && request->step == api::BindStep::Bound;
}

TEST(Binder, ALateRequestOfAnEarlierTermIsRefused) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  put_lease(cluster, 2);
  put_lease(cluster, 1, "u9", "other");
  for (const char* claim : {"c1", "c2", "c3", "c4", "c5"}) add_claim(cluster, claim);
  add_pod(cluster, "before", {"c1"}, term(1));
  add_pod(cluster, "successor", {"c2"}, term(2));
  add_pod(cluster, "late", {"c3"}, term(1));
  add_pod(cluster, "of-another", {"c4"}, of_lease("other", "u9", 1));
  add_pod(cluster, "of-a-release-before", {"c5"}, R"(,"decisionID":"y","schedulerName":"berth","epoch":1)");
  settle(cluster);
  EXPECT_EQ(failure_of(cluster, "late"), api::kStaleEpoch);
  EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "late")));
  EXPECT_EQ(status_text(cluster, claim_key("c3")), "");
  for (const char* claim : {"c1", "c2", "c4", "c5"})
    EXPECT_NE(status_text(cluster, claim_key(claim)), "") << claim;
}

TEST(Binder, WithoutALeaseItRefusesWhatAnEarlierProcessDecided) {
  BinderOptions options;
  options.process = "2";
  BinderFixture cluster(options);
  cluster.put(Kind::Node, kNodeN1);
  const auto decided = [](const std::string& id) { return R"(,"decisionID":")" + id + '"'; };
  add_claim(cluster, "c");
  add_pod(cluster, "own", {}, decided("d1@2"));
  add_pod(cluster, "earlier", {"c"}, decided("d1@1"));
  add_pod(cluster, "by-hand", {}, decided("mine"));
  add_pod(cluster, "begun", {}, decided("d2@1"));
  cluster.change(request_key("begun"), R"({"status":{"decisionID":"d2@1","step":"Reserving"}})");
  settle(cluster);
  EXPECT_EQ(failure_of(cluster, "earlier"), api::kStaleEpoch);
  EXPECT_EQ(status_text(cluster, claim_key("c")), "");
  for (const char* name : {"own", "by-hand", "begun"}) EXPECT_TRUE(binds(cluster, name)) << name;
}

// The first request of a term is seen before its Lease was read: a late one right behind it waits.
TEST(Binder, ALateRequestBehindTheFirstOfATermWaitsForTheLease) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  put_lease(cluster, 1);
  add_pod(cluster, "before", {}, term(1));
  settle(cluster);
  ASSERT_TRUE(binds(cluster, "before"));
  put_lease(cluster, 2);
  add_pod(cluster, "successor", {}, term(2));
  add_pod(cluster, "late", {}, term(1));
  settle(cluster);
  EXPECT_TRUE(binds(cluster, "successor"));
  EXPECT_EQ(failure_of(cluster, "late"), api::kStaleEpoch);
}

// Deleted by hand, or lost with an uninstall or a restored backup: its terms count from 1 again.
TEST(Binder, ALeaseThatIsMadeAgainBeginsANewLife) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  put_lease(cluster, 5);
  add_pod(cluster, "before", {}, term(5));
  settle(cluster);
  ASSERT_TRUE(binds(cluster, "before"));
  remove_lease(cluster);
  put_lease(cluster, 1, "u2");
  add_pod(cluster, "after", {}, of_lease(kLeaseName, "u2", 1));
  settle(cluster);
  add_pod(cluster, "late", {}, term(5));
  add_pod(cluster, "second", {}, of_lease(kLeaseName, "u2", 1));
  settle(cluster);
  EXPECT_TRUE(binds(cluster, "after"));
  EXPECT_TRUE(binds(cluster, "second"));
  EXPECT_EQ(failure_of(cluster, "late"), api::kStaleEpoch);
  const TermDoubts& doubts = cluster.binder().term_doubts();
  EXPECT_EQ(doubts.counts[static_cast<std::size_t>(TermDoubt::Earlier)], 1u);
  EXPECT_EQ(doubts.latest[static_cast<std::size_t>(TermDoubt::Earlier)],
            "d/late of epoch 5 of Lease kube-system/berth-scheduler");
}

TEST(Binder, WhatARequestSaysOfItsTermChangesNothing) {
  struct Row {
    const char* name;
    std::string term;
    TermDoubt doubt;
  };
  const std::string huge =
      R"(,"decisionID":"f","schedulerName":"berth","epoch":4611686018427387904,"lease":)";
  const Row rows[] = {
      {"beyond its Lease", huge + R"({"namespace":"kube-system","name":"berth-scheduler","uid":"u1"})",
       TermDoubt::Beyond},
      {"of a Lease that never was",
       huge + R"({"namespace":"kube-system","name":"berth-scheduler","uid":"forged"})", TermDoubt::Earlier},
      {"of an unknown name", huge + R"({"namespace":"kube-system","name":"mine","uid":"u1"})",
       TermDoubt::NoLease},
      {"of a Lease of its own", huge + R"({"namespace":"d","name":"berth-scheduler","uid":"u1"})",
       TermDoubt::OtherNamespace},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    BinderFixture cluster;
    cluster.put(Kind::Node, kNodeN1);
    put_lease(cluster, 2);
    add_pod(cluster, "before", {}, term(2));
    settle(cluster);
    add_pod(cluster, "forged", {}, row.term);
    add_pod(cluster, "beside", {}, term(2));
    settle(cluster);
    put_lease(cluster, 3);
    add_pod(cluster, "after", {}, term(3));
    settle(cluster);
    add_pod(cluster, "late", {}, term(2));
    settle(cluster);
    for (const char* name : {"before", "beside", "after"}) EXPECT_TRUE(binds(cluster, name)) << name;
    EXPECT_EQ(failure_of(cluster, "late"), api::kStaleEpoch) << "real terms are fenced as before";
    EXPECT_EQ(cluster.binder().term_doubts().counts[static_cast<std::size_t>(row.doubt)],
              row.doubt == TermDoubt::Earlier ? 2u : 1u);
  }
}

TEST(Binder, ManyForgedTermsHoldUpNobody) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  put_lease(cluster, 1);
  for (std::size_t i = 0; i < kClaimedTermsMax + 10; ++i) {
    add_pod(cluster, "epoch-" + std::to_string(i), {}, term(1000 + static_cast<int>(i)));
    add_pod(cluster, "lease-" + std::to_string(i), {}, of_lease("mine-" + std::to_string(i), "u1", 1));
  }
  add_pod(cluster, "real", {}, term(1));
  settle(cluster);
  EXPECT_TRUE(binds(cluster, "real"));
  put_lease(cluster, 2);
  add_pod(cluster, "successor", {}, term(2));
  add_pod(cluster, "late", {}, term(1));
  settle(cluster);
  EXPECT_TRUE(binds(cluster, "successor"));
  EXPECT_EQ(failure_of(cluster, "late"), api::kStaleEpoch);
}

// Nothing is fenced then, and bindings do not wait for it one by one.
TEST(Binder, ALeaseThatMayNotBeReadFencesNothing) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  for (const char* name : {"a", "b", "c"}) add_pod(cluster, name, {}, term(1));
  cluster.deliver();
  ASSERT_EQ(cluster.in_flight(), 1u);
  cluster.answer(0, InjectedFault::Refused);
  cluster.run_until_idle(cluster.now() + kLeaseReadInterval);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(binds(cluster, name)) << name;
  EXPECT_EQ(cluster.binder().term_doubts().counts[static_cast<std::size_t>(TermDoubt::Unreadable)], 3u);
}

TEST(Binder, AStartedRequestContinuesInALaterTerm) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  put_lease(cluster, 1);
  add_claim(cluster, "c");
  add_pod(cluster, "begun", {"c"}, term(1));
  settle(cluster);
  ASSERT_EQ(cluster.view().bind_requests.find("d", "begun")->step, api::BindStep::WaitingForDevices);
  put_lease(cluster, 2);
  add_pod(cluster, "successor", {}, term(2));
  settle(cluster);
  cluster.change(request_key("begun"), R"({"metadata":{"labels":{"seen":"yes"}}})");
  settle(cluster);
  EXPECT_EQ(cluster.view().bind_requests.find("d", "begun")->step, api::BindStep::WaitingForDevices);
}

// For example kept in memory in an earlier term and made an object in this one. An earlier release has
// committed it.
TEST(Binder, AMemberOfACommittedGangGoesForwardHoweverLateItIsWritten) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  put_lease(cluster, 2);
  add_group(cluster, 2);
  const std::string member = term(1) + R"(,"group":{"name":"g","size":3})";
  add_pod(cluster, "a", {}, member);
  add_pod(cluster, "b", {}, member);
  cluster.put(Kind::PodGroup,
              R"({"metadata":{"namespace":"d","name":"g","annotations":{"scheduling.berth.dev/decision":)"
              R"("Committed x1"}},"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}})");
  add_pod(cluster, "successor", {}, term(2));
  settle(cluster);
  add_pod(cluster, "late", {}, member);
  settle(cluster);
  EXPECT_EQ(cluster.view().bind_requests.find("d", "late")->step, api::BindStep::Bound);
}

TEST(Binder, ADeviceThatAnotherClaimHasIsNotAllocatedAgain) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_claim(cluster, "rival", R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv",
      "pool":"pool","device":"c"}]}}})");
  add_pod(cluster, "p", {"c"});
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->reason, api::kDeviceTaken);
  EXPECT_EQ(status_text(cluster, claim_key("c")), "");
}

// Two pods whose claims are decided for the same device.
void add_two_for_one_device(BinderFixture& cluster) {
  cluster.put(Kind::Node, kNodeN1);
  for (const char* name : {"p", "q"}) {
    add_claim(cluster, std::string("c-") + name);
    cluster.put(Kind::Pod, std::string(R"({"metadata":{"namespace":"d","name":")") + name +
                               R"("},"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"c-)" + name +
                               R"("}]}})");
    const Json* pod = cluster.find(pod_key(name));
    cluster.put(Kind::BindRequest,
                std::string(R"({"metadata":{"namespace":"d","name":")") + name +
                    R"("},"spec":{"decisionID":"of-)" + name + R"(","selectedNode":"n1","podName":")" + name +
                    R"(","podUID":")" + std::string(pod->find("metadata")->string_at("uid")) +
                    R"(","resourceClaimAllocations":[{"name":"c","claimName":"c-)" + name +
                    R"(","claimUID":"u-c-)" + name +
                    R"(","allocation":{"devices":{"results":[{"request":"r","driver":"drv","pool":"pool",
                    "device":"c"}]}}}]}})");
  }
  cluster.deliver();
}

TEST(Binder, ADeviceIsTakenWhileItsAllocationIsOnItsWay) {
  BinderFixture cluster;
  add_two_for_one_device(cluster);
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->phase, api::BindPhase::Succeeded);
  EXPECT_EQ(cluster.view().bind_requests.find("d", "q")->reason, api::kDeviceTaken);
  EXPECT_EQ(
      cluster.view().bind_requests.find("d", "q")->message,
      "binding of pod d/q to node n1 failed: claim c-q cannot get device c: claim c-p has it, or is about "
      "to");
}

TEST(Binder, AnAllocationOfADeletedRequestCannotLand) {
  BinderFixture cluster;
  add_two_for_one_device(cluster);
  cluster.answer("patch resourceclaims c-p");
  cluster.answer("patch resourceclaims c-p/status", InjectedFault::LostNotDone);
  const std::uint64_t sent_on = cluster.view().claims.find("d", "c-p")->meta.resource_version;
  cluster.remove(request_key("p"));
  cluster.remove(pod_key("p"));
  cluster.deliver();
  cluster.run_until_idle(cluster.now() + Duration::seconds(1));
  EXPECT_GT(cluster.view().claims.find("d", "c-p")->meta.resource_version, sent_on);
  EXPECT_EQ(cluster.view().claims.find("d", "c-p")->meta.annotation(client::kGivenUpAnnotation), "of-p");
}

constexpr const char* kFailing = R"(,"selectedNode":"n1","decisionID":"x","resourceClaimAllocations":[
    {"name":"c","claimName":"c","claimUID":"u-c","allocation":{"devices":{"results":[
    {"request":"r","driver":"drv","pool":"pool","device":"c"}]}}}]},
    "status":{"phase":"Pending","step":"RollingBack","decisionID":"x","message":"m"}})";
constexpr const char* kSealed =
    R"x(,"status":{"conditions":[{"type":"PodScheduled","status":"False","message":"m (decision x)"}]})x";

// A pod that uses the claim "c" and whose decision has failed; `sealed`: it has the sealing condition.
void add_failing(BinderFixture& cluster, const std::string& name, bool sealed) {
  const std::string meta =
      R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name + R"("})";
  cluster.put(Kind::Pod, meta + R"(,"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"c"}]})" +
                             (sealed ? kSealed : "") + "}");
  cluster.put(Kind::BindRequest,
              meta + R"(,"spec":{"podName":")" + name + R"(","podUID":"u-)" + name + "\"" + kFailing);
}

TEST(Binder, APodThatMayStillBeBoundKeepsItsReservation) {
  for (const bool other_is_sealed : {false, true}) {
    BinderFixture cluster;
    cluster.put(Kind::Node, kNodeN1);
    add_claim(cluster, "c", R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv",
        "pool":"pool","device":"c"}]}},"reservedFor":[{"resource":"pods","name":"p","uid":"u-p"},
        {"resource":"pods","name":"q","uid":"u-q"}]})");
    add_failing(cluster, "p", other_is_sealed);
    add_failing(cluster, "q", true);
    const client::Effects effects = cluster.decide(request_key("q"));
    ASSERT_EQ(effects.chains.size(), 1u);
    EXPECT_EQ(effects.chains[0].key, claim_key("c"));
    const bool keeps = effects.chains[0].writes[0].request.body.find("u-p") != std::string::npos;
    EXPECT_EQ(keeps, !other_is_sealed) << effects.chains[0].writes[0].request.body;
  }
}

TEST(Binder, ARequestThatIsNotRollingBackKeepsItsReservation) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c", R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv",
      "pool":"pool","device":"c"}]}},"reservedFor":[{"resource":"pods","name":"p","uid":"u-p"},
      {"resource":"pods","name":"q","uid":"u-q"}]})");
  add_pod(cluster, "p", {"c"});
  cluster.remove(pod_key("p"));  // not seen yet, or gone: its own request decides that
  add_failing(cluster, "q", true);
  const client::Effects effects = cluster.decide(request_key("q"));
  ASSERT_EQ(effects.chains.size(), 1u);
  EXPECT_NE(effects.chains[0].writes[0].request.body.find("u-p"), std::string::npos);
}

TEST(RequestStatus, TheConditionBoundFollowsTheRequest) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_pod(cluster, "p", {"c"});
  cluster.change(request_key("p"), R"({"metadata":{"generation":3}})");
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(bound_text(cluster, "p"), "False WaitingForDevices");
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->observed_generation, 3);
  const Time began = cluster.now();
  cluster.advance_to(began + Duration::seconds(5));
  cluster.change(claim_key("c"), R"({"status":{"devices":[{"driver":"drv","pool":"pool","device":"c",
      "conditions":[{"type":"Broken","status":"True","reason":"Cable"}]}]}})");
  cluster.run_until_idle(cluster.now() + kRetryMax);
  EXPECT_EQ(bound_text(cluster, "p"), "False BindingConditionsFailed");
  const auto* failed =
      api::find_condition(cluster.view().bind_requests.find("d", "p")->conditions, api::kBound);
  EXPECT_EQ(failed->last_transition, began);
  EXPECT_EQ(failed->observed_generation, 3);

  add_pod(cluster, "q", {});
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(bound_text(cluster, "q"), "True Bound");
}

// What the API server accepts of a request that somebody made by hand, and its pod does not fit.
TEST(RequestCheck, NamesTheFieldsThatDoNotFitThePod) {
  struct Row {
    std::string allocations;  // of the request
    std::string errors;       // in the message; empty: it is bound
  };
  const std::string rest = R"(,"allocation":{"devices":{"results":[{"request":"r","driver":"drv",
      "pool":"pool","device":"c"}]}}})";
  const std::string c = R"({"name":"c","claimName":"c","claimUID":"u-c")" + rest;
  const std::string at = "spec.resourceClaimAllocations";
  const Row rows[] = {
      {c, ""},
      {"", at + ": Required value: has no entry for the pod's claim c"},
      {c + R"(,{"name":"d","claimName":"d","claimUID":"u-d")" + rest, at + "[1].name: Not found: \"d\""},
      {R"({"name":"c","claimName":"x","claimUID":"u-c")" + rest, at + "[0].claimName: Invalid value: \"x\""},
      {R"({"name":"c","claimName":"c")" + rest, at + "[0].claimUID: Required value"},
  };
  for (const Row& row : rows) {
    BinderFixture cluster;
    cluster.put(Kind::Node, kNodeN1);
    add_claim(cluster, "c");
    add_claim(cluster, "d");
    cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"},"spec":{"resourceClaims":
        [{"name":"c","resourceClaimName":"c"},{"name":"none","resourceClaimTemplateName":"t"}]},
        "status":{"resourceClaimStatuses":[{"name":"none"}]}})");
    cluster.put(Kind::BindRequest, R"({"metadata":{"namespace":"d","name":"p","uid":"b-p"},"spec":{
        "podName":"p","podUID":"u-p","selectedNode":"n1","resourceClaimAllocations":[)" +
                                       row.allocations + "]}}");
    cluster.run_until_idle(cluster.now() + kInformerLagGrace);
    const api::BindRequest& request = *cluster.view().bind_requests.find("d", "p");
    EXPECT_EQ(request.phase, row.errors.empty() ? api::BindPhase::Succeeded : api::BindPhase::Failed);
    EXPECT_EQ(request.reason, row.errors.empty() ? "" : "InvalidRequest") << request.message;
    EXPECT_NE(request.message.find(row.errors), std::string::npos) << request.message;
  }
}

TEST(RequestCheck, AShareOfAGpuIsForPodsThatAskForOne) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"}})");
  cluster.put(Kind::BindRequest, R"({"metadata":{"namespace":"d","name":"p","uid":"b-p"},"spec":{
      "podName":"p","podUID":"u-p","selectedNode":"n1","receivedResourceType":"Fraction"}})");
  cluster.run_until_idle(cluster.now() + kInformerLagGrace);
  const api::BindRequest& request = *cluster.view().bind_requests.find("d", "p");
  EXPECT_EQ(request.reason, "InvalidRequest");
  EXPECT_NE(request.message.find("spec.receivedResourceType: Invalid value: \"Fraction\""), std::string::npos)
      << request.message;
}

TEST(RequestStatus, ARequestWithoutAnOwnerIsDeletedAfterItsPod) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_pod(cluster, "p", {});
  add_pod(cluster, "owned", {});
  cluster.change(request_key("owned"), R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod",
      "name":"owned","uid":"u-owned"}]}})");
  cluster.run_until_idle(cluster.now());
  const Time ended = cluster.now();
  cluster.advance_to(ended + kOwnerlessRequestTtl - Duration::minutes(5));
  cluster.remove(pod_key("p"));
  cluster.remove(pod_key("owned"));
  cluster.run_until_idle(ended + kOwnerlessRequestTtl - Duration::seconds(1));
  EXPECT_NE(cluster.find(request_key("p")), nullptr);
  cluster.crash();
  cluster.run_until_idle(ended + kOwnerlessRequestTtl);
  EXPECT_EQ(cluster.find(request_key("p")), nullptr);
  EXPECT_NE(cluster.find(request_key("owned")), nullptr);
}

TEST(RequestStatus, DecisionsNameTheVersionAndFactsDoNot) {
  api::BindRequest now;
  now.meta.ns = "d";
  now.meta.name = "p";
  now.meta.resource_version = 4711;
  api::BindRequest wanted = now;
  wanted.step = api::BindStep::RollingBack;
  const auto decision = status_write(now, wanted, IfChanged::Refuse);
  const auto fact = status_write(now, wanted, IfChanged::Write);
  ASSERT_TRUE(decision && fact);
  EXPECT_NE(decision->request.body.find("4711"), std::string::npos) << decision->request.body;
  EXPECT_EQ(fact->request.body.find("4711"), std::string::npos) << fact->request.body;
  EXPECT_FALSE(status_write(now, now, IfChanged::Refuse));
}

TEST(Binder, ARollbackSealsItsClaimsAgainstLateAllocations) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_pod(cluster, "p", {"c"}, R"(,"decisionID":"x","withdrawn":true)");
  cluster.deliver();
  const std::uint64_t before = cluster.view().claims.find("d", "c")->meta.resource_version;
  cluster.run_until_idle(cluster.now());
  EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "p")));
  EXPECT_GT(cluster.view().claims.find("d", "c")->meta.resource_version, before);
}

// The commit and the withdrawal were in flight at the same time.
TEST(Binder, AMemberThatIsWithdrawnAfterTheCommitIsBound) {
  BinderFixture cluster;
  add_gang_of_two(cluster, 2);
  cluster.deliver();
  cluster.change(request_key("a"), R"({"spec":{"withdrawn":true}})");
  cluster.deliver();
  cluster.answer("patch podgroups g/status");
  cluster.run_until_idle(cluster.now() + Duration::seconds(60));
  for (const char* name : {"a", "b"})
    EXPECT_EQ(cluster.view().bind_requests.find("d", name)->phase, api::BindPhase::Succeeded) << name;
}

TEST(Binder, AFailingMemberTakesItsGangDown) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c");
  add_claim(cluster, "f", R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv",
      "pool":"pool","device":"other"}]}}})");
  add_group(cluster, 3);
  const std::string gang = R"(,"decisionID":"x","group":{"name":"g","size":3})";
  add_pod(cluster, "a", {}, gang);
  add_pod(cluster, "b", {"c"}, gang);
  add_pod(cluster, "e", {"f"}, gang);
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.view().bind_requests.find("d", "e")->reason, "ClaimAllocatedElsewhere");
  EXPECT_EQ(cluster.view().bind_requests.find("d", "b")->reason, "GangMemberFailed");
  EXPECT_EQ(cluster.view().bind_requests.find("d", "a")->message,
            "binding of pod d/a to node n1 failed: member pod d/e of its gang failed: binding of pod d/e to "
            "node n1 "
            "failed: claim f got allocated elsewhere");
  for (const char* name : {"a", "b", "e"})
    EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", name))) << name;
  EXPECT_EQ(status_text(cluster, claim_key("c")), "{}");
}

// Runs to the binding and answers it with `fault`.
void answer_binding(BinderFixture& cluster, InjectedFault fault) {
  cluster.deliver();
  ASSERT_EQ(cluster.in_flight(), 1u);
  cluster.answer(0, fault);
}

const api::BindRequest& request(const BinderFixture& cluster) {
  return *cluster.view().bind_requests.find("d", "p");
}

TEST(Binder, ALostAnswerOfACarriedOutBindingIsSuccess) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_pod(cluster, "p", {});
  answer_binding(cluster, InjectedFault::LostDone);
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"create pods p/binding", "patch bindrequests p/status"}));
  EXPECT_EQ(request(cluster).step, api::BindStep::Bound);
}

TEST(Binder, AFailedAttemptIsCountedAndWaitsForItsTimeEvenAcrossACrash) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_pod(cluster, "p", {});
  answer_binding(cluster, InjectedFault::ServerError);
  cluster.run_until_idle(cluster.now() + kRetryMax);
  EXPECT_EQ(request(cluster).failed_attempts, 1);
  EXPECT_EQ(request(cluster).phase, api::BindPhase::Pending);
  const Time next = request(cluster).next_attempt;  // in whole seconds
  EXPECT_GE(next, cluster.now() + Duration::seconds(1));
  EXPECT_LT(next, cluster.now() + Duration::seconds(2));
  cluster.crash();
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.log.size(), 1u);
  cluster.run_until_idle(next);
  EXPECT_EQ(request(cluster).step, api::BindStep::Bound);
  EXPECT_EQ(cluster.events.size(), 1u) << "no event of success for a failed attempt";
}

TEST(Binder, ABindingFailsAtItsDeadlineEvenAcrossACrash) {
  for (const bool crashes : {false, true}) {
    BinderFixture cluster;
    cluster.put(Kind::Node, kNodeN1);
    add_claim(cluster, "c");
    const Time deadline = cluster.now() + Duration::seconds(30);
    add_pod(cluster, "p", {"c"}, R"(,"deadline":")" + format_time(deadline) + "\"");
    cluster.run_until_idle(deadline - Duration::seconds(1));
    EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->step, api::BindStep::WaitingForDevices);
    if (crashes) cluster.crash();
    cluster.run_until_idle(deadline + kRetryMax);
    EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->reason, "DeadlineExceeded");
    EXPECT_EQ(status_text(cluster, claim_key("c")), "{}");
  }
}

TEST(Binder, ALimitOfZeroIsOneAttempt) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_pod(cluster, "p", {}, R"(,"backoffLimit":0)");
  answer_binding(cluster, InjectedFault::ServerError);
  cluster.run_until_idle(cluster.now() + kRetryMax);
  EXPECT_EQ(request(cluster).reason, "BackoffLimitExceeded");
  EXPECT_TRUE(api::failed_for_good(request(cluster)));
}

TEST(Binder, ARefusedBindingIsPermanent) {
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_pod(cluster, "p", {});
  answer_binding(cluster, InjectedFault::Refused);
  cluster.run_until_idle(cluster.now() + kRetryMax);
  EXPECT_EQ(request(cluster).reason, "BindingRefused");
  EXPECT_EQ(request(cluster).failure, api::FailureClass::Permanent);
}

TEST(Binder, NamesTheReasonOfAFailedPlacement) {
  const std::string full = [] {
    std::string consumers;
    for (std::size_t i = 0; i < api::kReservedForMax; ++i)
      consumers +=
          (i ? R"(,{"resource":"pods","name":"x","uid":"x)" : R"({"resource":"pods","name":"x","uid":"x)") +
          std::to_string(i) + R"("})";
    return R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv","pool":"pool",)"
           R"("device":"c"}]}},"reservedFor":[)" +
           consumers + "]}";
  }();
  struct Row {
    std::string what;
    std::function<void(BinderFixture&)> meddle;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {"pod gone", [](BinderFixture& c) { c.remove(pod_key("p")); }, "Superseded"},
      {"pod replaced", [](BinderFixture& c) { c.change(pod_key("p"), R"({"metadata":{"uid":"u2"}})"); },
       "Superseded"},
      {"bound elsewhere", [](BinderFixture& c) { c.change(pod_key("p"), R"({"spec":{"nodeName":"n2"}})"); },
       "Superseded"},
      {"node gone", [](BinderFixture& c) { c.remove({Kind::Node, "", "n1", {}}); }, "NodeNotFound"},
      {"claim gone", [](BinderFixture& c) { c.remove(claim_key("c")); }, "ClaimNotFound"},
      {"claim replaced", [](BinderFixture& c) { c.change(claim_key("c"), R"({"metadata":{"uid":"u2"}})"); },
       "ClaimNotFound"},
      {"claim deleting",
       [](BinderFixture& c) {
         c.change(claim_key("c"), R"({"metadata":{"deletionTimestamp":"1970-01-01T00:00:00Z"}})");
       },
       "ClaimDeleting"},
      {"claim full", [&full](BinderFixture& c) { add_claim(c, "c", full); }, "ClaimFullyReserved"},
  };
  for (const Row& row : rows) {
    BinderFixture cluster;
    cluster.put(Kind::Node, kNodeN1);
    add_claim(cluster, "c");
    add_pod(cluster, "p", {"c"});
    row.meddle(cluster);
    cluster.run_until_idle(cluster.now() + kInformerLagGrace);
    EXPECT_EQ(request(cluster).reason, row.reason) << row.what;
    EXPECT_TRUE(api::failed_for_good(request(cluster))) << row.what;
    EXPECT_EQ(cluster.log.back(), "patch bindrequests p/status") << row.what;
    for (const std::string& line : cluster.log) {
      EXPECT_EQ(line.find("resourceclaims c/status"), std::string::npos) << line;
      EXPECT_EQ(line.find("binding"), std::string::npos) << line;
    }
  }
}

TEST(Binder, AClaimReservedAsDecidedCostsNoWriteAndOthersKeepTheirs) {
  const std::string claim =
      R"("status":{"allocation":{"allocationTimestamp":"1970-01-12T13:00:00Z","devices":{
      "results":[{"request":"r","driver":"drv","pool":"pool","device":"c","bindingConditions":["Attached"],
      "bindingFailureConditions":["Broken"]}]}},"reservedFor":[{"resource":"pods","name":"x","uid":"ux"},
      {"resource":"pods","name":"p","uid":"u-p"}]})";
  BinderFixture cluster;
  cluster.put(Kind::Node, kNodeN1);
  add_claim(cluster, "c", "," + claim);
  add_pod(cluster, "p", {"c"});
  // The second pod inherits the deadline of the first, which has passed.
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(request(cluster).reason, "BindingTimeout");
  const api::ResourceClaim& left = *cluster.view().claims.find("d", "c");
  EXPECT_TRUE(left.allocation);
  ASSERT_EQ(left.reserved_for.size(), 1u);
  EXPECT_EQ(left.reserved_for[0].uid, "ux");
  EXPECT_EQ(cluster.log,
            (std::vector<std::string>{"patch bindrequests p/status", "patch pods p/status",
                                      "patch resourceclaims c/status", "patch bindrequests p/status"}));
}

// A claim in use by pod x, with the allocation in add_pod()'s request.
std::string in_use(const std::string& device) {
  return R"({"metadata":{"namespace":"d","name":"c","uid":"u-c","finalizers":[)"
         R"("resource.kubernetes.io/delete-protection"]},"status":{"allocation":{"devices":{"results":)"
         R"([{"request":"r","driver":"drv","pool":"pool","device":")" +
         device + R"("}]},"unknown":"field"},"reservedFor":[{"resource":"pods","name":"x","uid":"ux"}]}})";
}

TEST(Binder, AddsItsPodToAClaimInUseWhateverElseChangesButTheAllocation) {
  struct Row {
    std::string what;
    std::string change;  // of the claim, while the addition is in flight
    std::string reason;  // empty: bound
    std::string consumers;
  };
  const std::string x = R"({"resource":"pods","name":"x","uid":"ux"})";
  const std::string y = R"({"resource":"pods","name":"y","uid":"uy"})";
  const std::string p = R"({"resource":"pods","name":"p","uid":"u-p"})";
  const Row rows[] = {
      {"nothing", "{}", "", "[" + x + "," + p + "]"},
      {"another consumer comes", R"({"status":{"reservedFor":[)" + x + "," + y + "]}}", "",
       "[" + x + "," + y + "," + p + "]"},
      {"the last consumer goes", R"({"status":{"reservedFor":null}})", "", "[" + p + "]"},
      {"freed", R"({"status":{"allocation":null,"reservedFor":null}})", "", "[" + p + "]"},
      {"allocated anew",
       R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv",)"
       R"("pool":"pool","device":"other"}]}}}})",
       "ClaimAllocatedElsewhere", "[" + x + "]"},
      {"another claim", R"({"metadata":{"uid":"u2"}})", "ClaimNotFound", "[" + x + "]"},
  };
  for (const Row& row : rows) {
    BinderFixture cluster({.binding_conditions = false});
    cluster.put(Kind::Node, kNodeN1);
    cluster.put(Kind::ResourceClaim, in_use("c"));
    add_pod(cluster, "p", {"c"});
    cluster.deliver();
    ASSERT_EQ(cluster.in_flight(), 1u);
    cluster.change(claim_key("c"), row.change);
    cluster.answer(0);
    cluster.run_until_idle(cluster.now() + kInformerLagGrace);
    EXPECT_EQ(request(cluster).reason, row.reason) << row.what;
    EXPECT_EQ(request(cluster).step, row.reason.empty() ? api::BindStep::Bound : api::BindStep::RolledBack)
        << row.what;
    EXPECT_EQ(to_string(*cluster.find(claim_key("c"))->find_path({"status", "reservedFor"})), row.consumers)
        << row.what;
  }
}

TEST(Binder, ALostAdditionIsFoundOrMadeAgain) {
  for (const InjectedFault fault : {InjectedFault::LostDone, InjectedFault::LostNotDone}) {
    BinderFixture cluster({.binding_conditions = false});
    cluster.put(Kind::Node, kNodeN1);
    cluster.put(Kind::ResourceClaim, in_use("c"));
    add_pod(cluster, "p", {"c"});
    cluster.deliver();
    cluster.answer(0, fault);
    cluster.run_until_idle(cluster.now());
    EXPECT_EQ(request(cluster).step, api::BindStep::Bound);
    EXPECT_EQ(cluster.log, (std::vector<std::string>{"patch resourceclaims c/status", "create pods p/binding",
                                                     "patch bindrequests p/status"}));
  }
}

TEST(Binder, ARefusedAdditionIsRepeatedOnTheVersion) {
  BinderFixture cluster({.binding_conditions = false});
  cluster.put(Kind::Node, kNodeN1);
  cluster.put(Kind::ResourceClaim, in_use("c"));
  add_pod(cluster, "p", {"c"});
  cluster.deliver();
  cluster.answer(0, InjectedFault::Refused);
  cluster.run_until_idle(cluster.now() + kRetryMax);
  EXPECT_EQ(request(cluster).step, api::BindStep::Bound);
  EXPECT_EQ(request(cluster).failed_attempts, 0);
}

TEST(BindingConditions, AreReadPerShareAndFailuresStandFirst) {
  api::ResourceClaim claim;
  claim.allocation.emplace();
  for (const char* share : {"s1", "s2"}) {
    api::DeviceResult result{"r", "drv", "pool", "dev"};
    result.share_id = share;
    result.binding_conditions = {"Attached"};
    result.binding_failure_conditions = {"Broken"};
    claim.allocation->results.push_back(result);
  }
  EXPECT_EQ(api::readiness_of(claim).pending_device, "drv/pool/dev") << "no entry is not ready";
  claim.devices.push_back({"drv", "pool", "dev", "s1", {{"Attached", "True"}}});
  EXPECT_FALSE(api::readiness_of(claim).ready()) << "the other share has no entry of its own";
  claim.devices.push_back({"drv", "pool", "dev", "s2", {{"Attached", "Unknown"}}});
  EXPECT_FALSE(api::readiness_of(claim).ready()) << "only True counts";
  claim.devices[1].conditions = {{"Attached", "True"}};
  EXPECT_TRUE(api::readiness_of(claim).ready());
  claim.devices[0].conditions.clear();
  claim.devices[1].conditions = {{"Broken", "True", "R", "m"}};
  ASSERT_TRUE(api::readiness_of(claim).failure) << "a later failure is seen past an earlier wait";
  EXPECT_EQ(api::readiness_of(claim).failure->reason, "R");
}

}  // namespace
}  // namespace berth::binding
