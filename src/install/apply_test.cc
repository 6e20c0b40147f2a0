#include "install/apply.h"

#include <gtest/gtest.h>

#include "install/crd.h"
#include "install/objects.h"
#include "install/testing/fake_server.h"

namespace berth::install {
namespace {

constexpr const char* kDeploymentPath = "/apis/apps/v1/namespaces/berth-system/deployments/berth-scheduler";
constexpr const char* kNamespacePath = "/api/v1/namespaces/berth-system";
constexpr const char* kRequestsPath = "/apis/scheduling.berth.dev/v1alpha1/bindrequests";

Json object_of_kind(std::string_view kind) {
  for (const InstallObject& entry : all_objects({}))
    if (entry.object.string_at("kind") == kind) return entry.object;
  return Json();
}

Change applied(FakeServer& server, const Json& object) {
  const Result<Applied> applied = apply_object(server.call(), object);
  EXPECT_TRUE(applied.ok()) << applied.error().text();
  return applied->change;
}

TEST(Apply, TellsWhatIsNewWhatChangesAndWhatStays) {
  FakeServer server;
  Json deployment = object_of_kind("Deployment");
  EXPECT_EQ(applied(server, deployment), Change::Created);
  EXPECT_EQ(applied(server, deployment), Change::Unchanged);
  deployment["spec"]["replicas"] = 3;
  EXPECT_EQ(applied(server, deployment), Change::Configured);
  EXPECT_EQ(server.requests().back(),
            std::string("PATCH ") + kDeploymentPath + "?fieldManager=berth&force=false");
}

TEST(Apply, ForcesItsOwnFieldsAndLeavesAnOperatorsToHim) {
  FakeServer server;
  server.put(kDeploymentPath, object_of_kind("Deployment"));
  server.conflict(
      kDeploymentPath,
      {".spec.replicas", ".spec.template.spec.containers[name=\"berth-scheduler\"].resources.limits.memory",
       ".spec.template.spec.containers[name=\"berth-scheduler\"].image"});
  const Result<Applied> applied = apply_object(server.call(), object_of_kind("Deployment"));
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied->note,
            "left to who set it: .spec.replicas, "
            ".spec.template.spec.containers[name=\"berth-scheduler\"].resources.limits.memory");
  const Json& spec = server.bodies().back().part("spec");
  EXPECT_EQ(spec.find("replicas"), nullptr);
  const Json& container = spec.part("template").part("spec").items_at("containers")[0];
  EXPECT_NE(container.find("image"), nullptr);
  EXPECT_NE(container.find_path({"resources", "requests", "memory"}), nullptr);
  EXPECT_EQ(container.find_path({"resources", "limits", "memory"}), nullptr);
  EXPECT_TRUE(server.requests().back().ends_with("force=true"));
}

TEST(Apply, ANamespaceOfOthersStaysAsItIs) {
  FakeServer server;
  server.put(kNamespacePath, Json::object({{"metadata", Json::object()}}));
  EXPECT_EQ(applied(server, object_of_kind("Namespace")), Change::Unchanged);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Apply, ARefusalNamesTheObject) {
  FakeServer server;
  server.answer("PATCH", kDeploymentPath, 403, Json::object({{"message", "deployments is forbidden"}}));
  const Result<Applied> applied = apply_object(server.call(), object_of_kind("Deployment"));
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().text(),
            "Deployment berth-system/berth-scheduler: the API server answers 403: deployments is forbidden");
}

TEST(Apply, AKindThatIsNotServedIsSaidSo) {
  FakeServer server;
  server.answer("PATCH", "/apis/monitoring.coreos.com", 404, Json::object());
  const Result<Applied> applied = apply_object(server.call(), object_of_kind("ServiceMonitor"));
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().code(), ErrorCode::Unsupported);
}

TEST(Apply, WhatIsBeingDeletedIsNotAppliedTo) {
  FakeServer server;
  Json leaving = bind_request_crd();
  leaving["metadata"]["deletionTimestamp"] = "2026-11-26T07:19:37Z";
  server.put(path_of(leaving), leaving);
  const Result<Applied> applied = apply_object(server.call(), bind_request_crd());
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().text(),
            "CustomResourceDefinition bindrequests.scheduling.berth.dev: is being deleted: run the command "
            "again once it is gone");
  EXPECT_EQ(server.requests().size(), 1u) << "it would be gone with what was applied";
}

TEST(Apply, WaitsForADefinitionABoundedTime) {
  FakeServer server;
  const Json crd = bind_request_crd();
  server.put(path_of(crd), crd);
  int pauses = 0;
  const auto count = [&](Duration) { ++pauses; };
  EXPECT_FALSE(wait_established(server.call(), crd, count).ok());
  EXPECT_EQ(pauses, kEstablishedChecksMax - 1);

  Json established = crd;
  established["status"]["conditions"] =
      Json::array({Json::object({{"type", "Established"}, {"status", "True"}})});
  server.put(path_of(crd), established);
  EXPECT_TRUE(wait_established(server.call(), crd, count).ok());
}

TEST(Remove, TakesAwayWhatBearsItsLabelAlone) {
  FakeServer server;
  server.put(kDeploymentPath, object_of_kind("Deployment"));
  Result<Applied> removed = remove_object(server.call(), object_of_kind("Deployment"), {});
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->change, Change::Deleted);
  EXPECT_EQ(server.find(kDeploymentPath), nullptr);
  EXPECT_EQ(remove_object(server.call(), object_of_kind("Deployment"), {})->change, Change::Unchanged);

  server.put(kNamespacePath, Json::object({{"metadata", Json::object()}}));
  removed = remove_object(server.call(), object_of_kind("Namespace"), {});
  EXPECT_EQ(removed->change, Change::Kept);
  EXPECT_NE(server.find(kNamespacePath), nullptr);
}

TEST(Remove, TheDefinitionStaysWhileThereAreBindRequests) {
  FakeServer server;
  const Json crd = all_objects({}).front().object;
  server.put(path_of(crd), crd);
  server.put(std::string(kRequestsPath) + "/x", Json::object());
  EXPECT_EQ(remove_object(server.call(), crd, Definitions::KeepWhileUsed)->change, Change::Kept);
  EXPECT_EQ(remove_object(server.call(), crd, Definitions::Delete)->change, Change::Deleted);
}

TEST(Remove, PoliciesKeepTheirDefinitionAndReportsDoNot) {
  FakeServer server;
  for (const Json& crd : own_crds()) {
    Json labelled = crd;
    labelled["metadata"]["labels"] = Json::object({{std::string(kManagedByLabel), "berth"}});
    server.put(path_of(crd), labelled);
  }
  for (const char* plural : {"devicehealthpolicies", "nodedevicehealths"})
    server.put("/apis/scheduling.berth.dev/v1alpha1/" + std::string(plural) + "/x", Json::object());
  const auto policies = remove_object(server.call(), health_policy_crd(), Definitions::KeepWhileUsed);
  EXPECT_EQ(policies->change, Change::Kept);
  EXPECT_EQ(policies->note, "there are DeviceHealthPolicies; --crds deletes it with them");
  EXPECT_EQ(remove_object(server.call(), node_health_crd(), Definitions::KeepWhileUsed)->change,
            Change::Deleted);
}

TEST(Lists, ComePageByPage) {
  int asked = 0;
  const ServerCall call = [&](client::HttpFetch fetch) {
    client::HttpReply reply;
    reply.status = 200;
    const bool first = ++asked == 1;
    EXPECT_EQ(fetch.target, first ? "/x?limit=500" : "/x?limit=500&continue=a%2Bb%3D");
    reply.body = first ? R"({"metadata":{"continue":"a+b="},"items":[1]})" : R"({"items":[2]})";
    return reply;
  };
  EXPECT_EQ(list_json(call, "/x")->size(), 2u);
}

}  // namespace
}  // namespace berth::install
