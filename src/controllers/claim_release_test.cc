#include <gtest/gtest.h>

#include "api/types/claim_consumer.h"
#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using engine::testing::EngineFixture;

// An allocated claim with its finalizer, reserved for pods a (uid-a) and b (uid-b).
constexpr const char* kClaim =
    R"({"metadata":{"namespace":"d","name":"c",)"
    R"("finalizers":["resource.kubernetes.io/delete-protection"]},)"
    R"("status":{"allocation":)"
    R"({"devices":{"results":[{"request":"r","driver":"x","pool":"p","device":"0"}]}},)"
    R"("devices":[{"driver":"x","pool":"p","device":"0"}],"reservedFor":)"
    R"([{"resource":"pods","name":"a","uid":"uid-a"},{"resource":"pods","name":"b","uid":"uid-b"}]}})";

std::string pod(const std::string& name, const std::string& uid, const std::string& rest = "") {
  return R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":")" + uid + "\"" + rest;
}
const std::string kBound = R"(},"spec":{"nodeName":"n"}})";

struct Fixture : ::testing::Test {
  EngineFixture fixture;
  void begin() {
    fixture.engine.add(make_claim_release());
    fixture.start();
    fixture.run_until_idle();
  }
  // The group "g" and the claim "c", allocated and reserved for it.
  void put_claim_of_group() {
    fixture.api.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g","uid":"uid-g"}})");
    fixture.api.put(
        Kind::ResourceClaim,
        R"({"metadata":{"namespace":"d","name":"c"},"status":{"allocation":{"devices":{}},"reservedFor":)"
        R"([{"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"g","uid":"uid-g"}]}})");
  }
  const api::ResourceClaim* claim() { return fixture.engine.view().claims.find("d", "c"); }
  std::vector<std::string> consumers() {
    std::vector<std::string> names;
    if (claim())
      for (const api::ClaimConsumer& consumer : claim()->reserved_for) names.push_back(consumer.name);
    return names;
  }
};
using ClaimRelease = Fixture;
using Names = std::vector<std::string>;

TEST_F(ClaimRelease, ConsumersThatLiveStay) {
  fixture.api.put(Kind::ResourceClaim, kClaim);
  fixture.api.put(Kind::Pod, pod("a", "uid-a", kBound));
  fixture.api.put(Kind::Pod, pod("b", "uid-b", kBound));
  begin();
  EXPECT_EQ(consumers(), (Names{"a", "b"}));
  EXPECT_TRUE(fixture.api.log.empty());
}

TEST_F(ClaimRelease, ConsumersThatAreGoneFinishedReplacedOrNeverScheduledAreRemoved) {
  const std::string cases[] = {
      "",
      pod("b", "uid-b", R"(},"spec":{"nodeName":"n"},"status":{"phase":"Failed"}})"),
      pod("b", "uid-b2", kBound),
      pod("b", "uid-b", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":30}})"),
  };
  for (const std::string& other : cases) {
    EngineFixture fresh;
    fresh.engine.add(make_claim_release());
    fresh.api.put(Kind::ResourceClaim, kClaim);
    fresh.api.put(Kind::Pod, pod("a", "uid-a", kBound));
    if (!other.empty()) fresh.api.put(Kind::Pod, other);
    fresh.start();
    fresh.run_until_idle();
    const api::ResourceClaim* left = fresh.engine.view().claims.find("d", "c");
    ASSERT_EQ(left->reserved_for.size(), 1u) << other;
    EXPECT_EQ(left->reserved_for[0].name, "a");
    EXPECT_TRUE(left->allocation.has_value());
  }
}

TEST_F(ClaimRelease, TheLastOneFreesAllocationAndDevicesThenTheFinalizer) {
  fixture.api.put(Kind::ResourceClaim, kClaim);
  fixture.api.put(Kind::Pod, pod("a", "uid-a", kBound));
  fixture.api.put(Kind::Pod, pod("b", "uid-b", kBound));
  begin();
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "b");
  fixture.run_until_idle();
  EXPECT_EQ(consumers(), (Names{"a"}));
  fixture.api.log.clear();
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
  fixture.run_until_idle();
  EXPECT_FALSE(claim()->allocation.has_value());
  EXPECT_TRUE(claim()->devices.empty());
  EXPECT_TRUE(claim()->meta.finalizers.empty());
  EXPECT_EQ(fixture.api.log, (Names{"get v1/pods d/a", "patch resource.k8s.io/v1/resourceclaims d/c/status",
                                    "patch resource.k8s.io/v1/resourceclaims d/c"}));
}

TEST_F(ClaimRelease, AConsumerThatOnlyTheServerKnowsYetIsNotTakenOut) {
  fixture.engine.add(make_claim_release());
  fixture.start();
  fixture.run_until_idle();
  fixture.api.put(Kind::Pod, pod("a", "uid-a", kBound));
  fixture.api.put(Kind::Pod, pod("b", "uid-b", kBound));
  fixture.api.put(Kind::ResourceClaim, kClaim);
  fixture.api.deliver(0);  // claims only: the watch of pods is behind
  fixture.step();
  while (fixture.api.answer()) fixture.step();
  fixture.run_until_idle();
  EXPECT_EQ(consumers(), (Names{"a", "b"}));
}

TEST_F(ClaimRelease, AnUnallocatedLiveClaimKeepsItsFinalizerADeletedOneGoes) {
  fixture.api.put(Kind::ResourceClaim, R"({"metadata":{"namespace":"d","name":"c",)"
                                       R"("finalizers":["resource.kubernetes.io/delete-protection"]}})");
  begin();
  EXPECT_TRUE(fixture.api.log.empty());
  fixture.api.change(Kind::ResourceClaim, "d", "c",
                     R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  fixture.run_until_idle();
  EXPECT_EQ(fixture.api.find(Kind::ResourceClaim, "d", "c"), nullptr);
  EXPECT_EQ(claim(), nullptr);
}

TEST_F(ClaimRelease, AGeneratedClaimOfAFinishedPodIsDeleted) {
  fixture.api.put(Kind::Pod, pod("a", "uid-a", kBound));
  fixture.api.put(Kind::ResourceClaim,
                  R"({"metadata":{"namespace":"d","name":"c",)"
                  R"("annotations":{"resource.kubernetes.io/pod-claim-name":"x"},)"
                  R"("ownerReferences":[{"kind":"Pod","name":"a","uid":"uid-a","controller":true}],)"
                  R"("finalizers":["resource.kubernetes.io/delete-protection"]}})");
  begin();
  EXPECT_NE(claim(), nullptr);
  fixture.api.change(Kind::Pod, "d", "a", R"({"status":{"phase":"Succeeded"}})");
  fixture.run_until_idle();
  EXPECT_EQ(claim(), nullptr);
}

TEST_F(ClaimRelease, AGroupHoldsItsClaimUntilItIsGone) {
  put_claim_of_group();
  begin();
  EXPECT_TRUE(claim()->allocation.has_value());
  fixture.api.remove(api::ref_of(Kind::PodGroup), "d", "g");
  fixture.run_until_idle();
  EXPECT_FALSE(claim()->allocation.has_value());
}

TEST_F(ClaimRelease, AGroupKeepsItsClaimWhenAllItsPodsAreGone) {
  put_claim_of_group();
  fixture.api.put(Kind::Pod, pod("a", "uid-a",
                                 R"(},"spec":{"nodeName":"n","schedulingGroup":)"
                                 R"({"podGroupName":"g"},"resourceClaims":[)"
                                 R"({"name":"x","resourceClaimName":"c"}]}})"));
  begin();
  EXPECT_EQ(consumers(), (Names{"g"})) << "the pod is there already, by its group";
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
  fixture.run_until_idle();
  EXPECT_EQ(consumers(), (Names{"g"}));
}

TEST_F(ClaimRelease, PodsBoundAroundTheSchedulerBringTheirGroupInOnce) {
  fixture.api.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g","uid":"uid-g"},"spec":)"
                                  R"({"resourceClaims":[{"name":"x","resourceClaimName":"c"}]}})");
  fixture.api.put(Kind::ResourceClaim, R"({"metadata":{"namespace":"d","name":"c"},"status":{"allocation":)"
                                       R"({"devices":{}}}})");
  for (const std::string name : {"a", "b"})
    fixture.api.put(Kind::Pod, pod(name, "uid-" + name,
                                   R"(},"spec":{"nodeName":"n","schedulingGroup":{"podGroupName":"g"},)"
                                   R"("resourceClaims":[{"name":"x","resourceClaimName":"c"}]}})"));
  begin();
  EXPECT_EQ(consumers(), (Names{"g"}));
  EXPECT_TRUE(api::is_group(claim()->reserved_for.at(0)));
}

}  // namespace
}  // namespace berth::controllers
