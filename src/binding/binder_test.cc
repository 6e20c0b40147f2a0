#include "binding/binder.h"

#include <gtest/gtest.h>

#include "binding/testing/fake_cluster.h"

namespace berth::binding {
namespace {

using api::Kind;
using testing::FakeCluster;
using testing::Fault;

constexpr const char* kNode = R"({"metadata":{"name":"n1"}})";

api::ObjectKey request_key(const std::string& name) {
  return {Kind::BindRequest, "d", name, {}};
}
api::ObjectKey pod_key(const std::string& name) {
  return {Kind::Pod, "d", name, {}};
}
api::ObjectKey claim_key(const std::string& name) {
  return {Kind::ResourceClaim, "d", name, {}};
}

std::string status_text(const FakeCluster& cluster, const api::ObjectKey& key) {
  const Json* object = cluster.find(key);
  const Json* status = object ? object->find("status") : nullptr;
  return status ? to_string(*status) : "";
}

// One pod "p" (UID up) with a request to node n1; `claims` names its claims, all of one device each.
void add_pod(FakeCluster& cluster, const std::string& name, const std::vector<std::string>& claims,
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

void add_claim(FakeCluster& cluster, const std::string& name, const std::string& rest = "") {
  cluster.put(Kind::ResourceClaim, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" +
                                       name + R"("})" + rest + "}");
}

TEST(Binder, BindsAPlainPodWithTwoWritesAndOneEvent) {
  FakeCluster cluster;
  cluster.put(Kind::Node, kNode);
  add_pod(cluster, "p", {});
  cluster.settle(cluster.now);
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"create pods p/binding", "patch bindrequests p/status"}));
  EXPECT_EQ(status_text(cluster, request_key("p")), R"({"phase":"Succeeded","step":"Bound"})");
  ASSERT_EQ(cluster.events.size(), 1u);
  EXPECT_EQ(cluster.events[0].reason, "Scheduled");
  EXPECT_EQ(cluster.events[0].message, "Successfully assigned d/p to n1");
}

const char* const kReady = R"({"status":{"devices":[{"driver":"drv","pool":"pool","device":"c",
    "conditions":[{"type":"Attached","status":"True"}]}]}})";

TEST(Binder, ReservesAClaimWithItsFinalizerFirst) {
  FakeCluster cluster;
  cluster.put(Kind::Node, kNode);
  add_claim(cluster, "c");
  add_pod(cluster, "p", {"c"});
  cluster.settle(cluster.now);
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"patch resourceclaims c", "patch resourceclaims c/status",
                                                   "patch bindrequests p/status"}));
  EXPECT_EQ(
      status_text(cluster, claim_key("c")),
      R"({"allocation":{"devices":{"results":[{"request":"r","driver":"drv","pool":"pool","device":"c",)"
      R"("bindingConditions":["Attached"],"bindingFailureConditions":["Broken"]}]},)"
      R"("allocationTimestamp":"1970-01-12T13:46:40Z"},"reservedFor":[{"resource":"pods","name":"p","uid":"u-p"}]})");
  EXPECT_EQ(status_text(cluster, request_key("p")),
            R"({"step":"WaitingForDevices","message":"waiting for binding conditions for device on node n1",)"
            R"("phase":"Pending"})");
  ASSERT_EQ(cluster.events.size(), 1u);
  EXPECT_EQ(cluster.events[0].reason, "BindingConditionsPending");
  EXPECT_EQ(cluster.events[0].action, "Scheduling");

  cluster.change(claim_key("c"), kReady);
  cluster.settle(cluster.now);
  EXPECT_EQ(status_text(cluster, request_key("p")), R"({"step":"Bound","phase":"Succeeded"})");
}

TEST(Binder, AFailedConditionGivesTheClaimBack) {
  FakeCluster cluster;
  cluster.put(Kind::Node, kNode);
  add_claim(cluster, "c");
  add_pod(cluster, "p", {"c"});
  cluster.settle(cluster.now);
  cluster.change(claim_key("c"),
                 R"({"status":{"devices":[{"driver":"drv","pool":"pool","device":"c","conditions":[
      {"type":"Attached","status":"True"},{"type":"Broken","status":"True","reason":"Cable","message":"no \"link\""}]
      }]}})");
  cluster.settle(cluster.now);
  EXPECT_EQ(status_text(cluster, claim_key("c")), "{}");
  EXPECT_EQ(
      status_text(cluster, request_key("p")),
      R"({"step":"RolledBack","message":"binding of pod d/p to node n1 failed: device binding failed: claim=c, )"
      R"(reason=Cable, message=\"no \\\"link\\\"\": condition Broken of device drv/pool/c on node n1 is True",)"
      R"("phase":"Failed","reason":"BindingConditionsFailed","failureClass":"OtherPlacement","terminal":true})");
  EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "p")));
}

TEST(Binder, ConditionsTimeOutFromTheAllocationOnEvenAcrossACrash) {
  FakeCluster cluster;
  cluster.put(Kind::Node, kNode);
  add_claim(cluster, "c");
  add_pod(cluster, "p", {"c"});
  const Time start = cluster.now;
  cluster.settle(start + Duration::seconds(300));
  cluster.now = start + Duration::seconds(400);
  cluster.crash();
  cluster.settle(start + Duration::seconds(599));
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->phase, api::BindPhase::Pending);
  cluster.settle(start + Duration::seconds(600));
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->reason, "BindingTimeout");
  EXPECT_EQ(status_text(cluster, claim_key("c")), "{}");
}

TEST(Binder, AGangIsBoundOnceEveryMemberIsPrepared) {
  FakeCluster cluster;
  cluster.put(Kind::Node, kNode);
  add_claim(cluster, "c");
  const std::string gang = R"(,"decisionID":"x","group":{"name":"g","size":3})";
  add_pod(cluster, "a", {}, gang);
  add_pod(cluster, "b", {"c"}, gang);
  cluster.settle(cluster.now);
  add_pod(cluster, "e", {}, gang);
  cluster.settle(cluster.now);
  EXPECT_EQ(cluster.find(pod_key("a"))->find_path({"spec", "nodeName"}), nullptr);
  cluster.change(claim_key("c"), kReady);
  cluster.settle(cluster.now);
  for (const char* name : {"a", "b", "e"}) {
    EXPECT_NE(cluster.find(pod_key(name))->find_path({"spec", "nodeName"}), nullptr) << name;
    EXPECT_EQ(cluster.view().bind_requests.find("d", name)->step, api::BindStep::Bound);
  }
  EXPECT_TRUE(cluster.view().bind_requests.find("d", "a")->committed);
}

TEST(Binder, AFailingMemberTakesItsGangDown) {
  FakeCluster cluster;
  cluster.put(Kind::Node, kNode);
  add_claim(cluster, "c");
  add_claim(cluster, "f", R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv",
      "pool":"pool","device":"other"}]}}})");
  const std::string gang = R"(,"decisionID":"x","group":{"name":"g","size":3})";
  add_pod(cluster, "a", {}, gang);
  add_pod(cluster, "b", {"c"}, gang);
  add_pod(cluster, "e", {"f"}, gang);
  cluster.settle(cluster.now);
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

}  // namespace
}  // namespace berth::binding
