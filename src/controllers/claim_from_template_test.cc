#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "controllers/patches.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using client::View;
using engine::testing::EngineFixture;

constexpr Time kNow = Time::from_seconds(1800000000);
constexpr const char* kTemplate =
    R"({"metadata":{"namespace":"d","name":"t","uid":"t1","resourceVersion":"1"},"spec":{"metadata":)"
    R"({"labels":{"l":"1"},"annotations":{"n":"2"}},"spec":{"devices":{"requests":[{"name":"gpu"}]}}}})";
constexpr const char* kPod =
    R"({"metadata":{"namespace":"d","name":"p","uid":"u1","resourceVersion":"2"},"spec":{"resourceClaims":)"
    R"([{"name":"own","resourceClaimName":"mine"},{"name":"gpu","resourceClaimTemplateName":"t"}]}})";
const api::ObjectKey kPodKey{Kind::Pod, "d", "p", {}};

TEST(ClaimFromTemplate, MakesTheClaimThenNamesItInThePod) {
  View view;
  engine::testing::put(view, Kind::Pod, kPod);
  engine::testing::put(view, Kind::ResourceClaimTemplate, kTemplate);
  const std::string name = derived_name("p", "gpu", "u1/gpu/0");
  EXPECT_EQ(engine::testing::run(*make_claim_from_template(), view, kPodKey, kNow),
            "chain Pod d/p\n"
            "  create resource.k8s.io/v1/resourceclaims d/" +
                name + R"( {"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":")" +
                name +
                R"(","generateName":"p-gpu-","namespace":"d","labels":{"l":"1"},)"
                R"("annotations":{"n":"2","resource.kubernetes.io/pod-claim-name":"gpu"},)"
                R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u1",)"
                R"("controller":true}],)"
                R"("finalizers":["resource.kubernetes.io/delete-protection"]},)"
                R"("spec":{"devices":{"requests":[{"name":"gpu"}]}}})"
                "\n"
                R"(  merge-patch v1/pods d/p/status {"status":{"resourceClaimStatuses":)"
                R"([{"name":"gpu","resourceClaimName":")" +
                name +
                R"("}]},"metadata":{"uid":"u1"}})"
                "\n");
}

TEST(ClaimFromTemplate, NothingIsToDoForPodsThatNeedNone) {
  const std::string wants = R"("resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}])";
  const std::string meta = R"("namespace":"d","name":"p","uid":"u1")";
  const std::string pods[] = {
      "{\"metadata\":{" + meta + R"(},"spec":{"resourceClaims":[{"name":"a","resourceClaimName":"b"}]}})",
      "{\"metadata\":{" + meta + R"(},"spec":{)" + wants + R"(},"status":{"phase":"Succeeded"}})",
      "{\"metadata\":{" + meta + R"(,"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{)" + wants + "}}",
      "{\"metadata\":{" + meta + R"(},"spec":{)" + wants +
          R"(},"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"x"}]}})",
  };
  for (const std::string& pod : pods) {
    View view;
    engine::testing::put(view, Kind::Pod, pod);
    engine::testing::put(view, Kind::ResourceClaimTemplate, kTemplate);
    EXPECT_EQ(engine::testing::run(*make_claim_from_template(), view, kPodKey, kNow), "") << pod;
  }
}

TEST(ClaimFromTemplate, AnOwnedClaimOfTheSameEntryIsUsedAgain) {
  View view;
  engine::testing::put(view, Kind::Pod, kPod);
  engine::testing::put(
      view, Kind::ResourceClaim,
      R"({"metadata":{"namespace":"d","name":"p-gpu-abcde","uid":"c1","resourceVersion":"3","annotations":)"
      R"({"resource.kubernetes.io/pod-claim-name":"gpu"},"ownerReferences":)"
      R"([{"kind":"Pod","name":"p","uid":"u1","controller":true}]}})");
  EXPECT_EQ(engine::testing::run(*make_claim_from_template(), view, kPodKey, kNow),
            "chain Pod d/p\n"
            R"(  merge-patch v1/pods d/p/status {"status":{"resourceClaimStatuses":)"
            R"([{"name":"gpu","resourceClaimName":"p-gpu-abcde"}]},"metadata":{"uid":"u1"}})"
            "\n");
}

TEST(ClaimFromTemplate, AMissingTemplateIsAWarningAndItsArrivalHelps) {
  EngineFixture fixture;
  fixture.engine.add(make_claim_from_template());
  fixture.api.put(Kind::Pod, kPod);
  fixture.api.put(Kind::ResourceClaimTemplate,
                  R"({"metadata":{"namespace":"d","name":"two","uid":"t2"},"spec":{"spec":{}}})");
  fixture.start();
  fixture.advance(Duration::seconds(60));
  const auto events = fixture.api.all({"", "v1", "events"});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]->string_at("reason"), "FailedResourceClaimCreation");
  EXPECT_EQ(
      events[0]->string_at("message"),
      "PodResourceClaim gpu: resource claim template \"t\": resourceclaimtemplate.resource.k8s.io \"t\" "
      "not found; existing: two");
  fixture.api.put(Kind::ResourceClaimTemplate, kTemplate);
  fixture.run_until_idle();
  EXPECT_EQ(fixture.engine.view().pods.find("d", "p")->claim_statuses.size(), 1u);
  EXPECT_EQ(fixture.api.all(api::ref_of(Kind::ResourceClaim)).size(), 1u);
}

TEST(ClaimFromTemplate, ALostAnswerNeverMakesASecondClaim) {
  for (const engine::testing::InjectedFault fault :
       {engine::testing::InjectedFault::LostDone, engine::testing::InjectedFault::LostNotDone}) {
    EngineFixture fixture;
    fixture.engine.add(make_claim_from_template());
    int requests = 0;
    fixture.api.fault = [&](const client::ApiRequest&) {
      return ++requests == 1 ? fault : engine::testing::InjectedFault::None;
    };
    fixture.api.put(Kind::Pod, kPod);
    fixture.api.put(Kind::ResourceClaimTemplate, kTemplate);
    fixture.start();
    fixture.advance(Duration::seconds(5));
    EXPECT_EQ(fixture.api.all(api::ref_of(Kind::ResourceClaim)).size(), 1u);
    EXPECT_EQ(fixture.engine.view().pods.find("d", "p")->claim_statuses.size(), 1u);
  }
}

TEST(ClaimFromTemplate, ANameThatAnotherOwnerHasIsPassedOver) {
  EngineFixture fixture;
  fixture.engine.add(make_claim_from_template());
  fixture.api.put(Kind::Pod, kPod);
  fixture.api.put(Kind::ResourceClaimTemplate, kTemplate);
  fixture.api.put(Kind::ResourceClaim, R"({"metadata":{"namespace":"d","name":")" +
                                           derived_name("p", "gpu", "u1/gpu/0") + R"("}})");
  fixture.start();
  fixture.run_until_idle();
  ASSERT_EQ(fixture.engine.view().pods.find("d", "p")->claim_statuses.size(), 1u);
  EXPECT_EQ(fixture.engine.view().pods.find("d", "p")->claim_statuses[0].claim_name,
            derived_name("p", "gpu", "u1/gpu/1"));
}

TEST(ClaimFromTemplate, PodsOfAGroupShareTheGroupsClaim) {
  EngineFixture fixture;
  fixture.engine.add(make_claim_from_template());
  fixture.engine.add(make_group_claim_from_template());
  for (const char* name : {"a", "b"})
    fixture.api.put(Kind::Pod, std::string(R"({"metadata":{"namespace":"d","name":")") + name +
                                   R"("},"spec":{"schedulingGroup":{"podGroupName":"g"},"resourceClaims":)"
                                   R"([{"name":"gpu","resourceClaimTemplateName":"t"}]}})");
  fixture.api.put(Kind::ResourceClaimTemplate, kTemplate);
  fixture.start();
  fixture.run_until_idle();
  EXPECT_TRUE(fixture.api.all(api::ref_of(Kind::ResourceClaim)).empty())
      << "whose claim it is is not known yet";
  fixture.api.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g"},"spec":{"resourceClaims":)"
                                  R"([{"name":"gpu","resourceClaimTemplateName":"t"}]}})");
  fixture.run_until_idle();
  const auto claims = fixture.api.all(api::ref_of(Kind::ResourceClaim));
  ASSERT_EQ(claims.size(), 1u);
  const std::string_view name = claims[0]->find("metadata")->string_at("name");
  for (const char* pod : {"a", "b"}) {
    ASSERT_EQ(fixture.engine.view().pods.find("d", pod)->claim_statuses.size(), 1u);
    EXPECT_EQ(fixture.engine.view().pods.find("d", pod)->claim_statuses[0].claim_name, name);
  }
  const Json* status = fixture.api.find(Kind::PodGroup, "d", "g")->find("status");
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(status->items_at("resourceClaimStatuses").at(0).string_at("resourceClaimName"), name);
}

TEST(DerivedName, IsStableShortAndDistinct) {
  const std::string longer(80, 'x');
  EXPECT_EQ(derived_name("p", "c", "s"), derived_name("p", "c", "s"));
  EXPECT_NE(derived_name("p", "c", "s"), derived_name("p", "c", "t"));
  EXPECT_LE(derived_name(longer, longer, "s").size(), 63u);
  EXPECT_LE(derived_name(longer, "gpu", "s").size(), 63u);
  EXPECT_NE(derived_name(longer, "gpu", "s").find("-gpu-"), std::string::npos);
}

}  // namespace
}  // namespace berth::controllers
