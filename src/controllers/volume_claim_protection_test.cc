#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using engine::testing::EngineFixture;

constexpr const char* kProtectedClaim = R"({"metadata":{"namespace":"d","name":"c","uid":"u-c","finalizers":)"
                                        R"(["example.com/other","kubernetes.io/pvc-protection"]}})";

// A pod of namespace d that uses claim c, deleted at the fixture's start where `meta` says so.
std::string user_of_claim(const char* name, const char* meta, const char* spec, const char* status = "{}") {
  return std::string(R"({"metadata":{"namespace":"d","name":")") + name + R"(","uid":"u-)" + name + "\"" +
         meta + R"(},"spec":{)" + spec +
         R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]},"status":)" + status + "}";
}

const std::vector<std::string>& finalizers_of_claim(EngineFixture& fixture) {
  return fixture.engine.view().volume_claims.find("d", "c")->meta.finalizers;
}

void delete_claim(EngineFixture& fixture) {
  fixture.api.change(Kind::PersistentVolumeClaim, "d", "c",
                     R"({"metadata":{"deletionTimestamp":")" + format_time(fixture.clock.now()) + R"("}})");
  fixture.run_until_idle();
}

struct ProtectedClaim : EngineFixture {
  ProtectedClaim() {
    engine.add(make_volume_claim_protection());
    api.put(Kind::PersistentVolumeClaim, kProtectedClaim);
  }
  bool is_held() { return finalizers_of_claim(*this).size() == 2; }
};

TEST(VolumeClaimProtection, AClaimStaysUntilTheLastPodThatUsesItIsGone) {
  ProtectedClaim fixture;
  fixture.api.put(Kind::Pod, user_of_claim("a", "", R"("nodeName":"n",)"));
  fixture.api.put(Kind::Pod, user_of_claim("ended", "", R"("nodeName":"n",)", R"({"phase":"Succeeded"})"));
  fixture.start();
  delete_claim(fixture);
  fixture.advance(Duration::seconds(60));
  EXPECT_TRUE(fixture.is_held());
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
  fixture.run_until_idle();
  EXPECT_TRUE(fixture.is_held()) << "the pod that has ended still names it";
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "ended");
  fixture.run_until_idle();
  EXPECT_EQ(finalizers_of_claim(fixture), (std::vector<std::string>{"example.com/other"}));
}

TEST(VolumeClaimProtection, AClaimWithoutPodsGoesAtOnce) {
  ProtectedClaim fixture;
  fixture.start();
  delete_claim(fixture);
  EXPECT_FALSE(fixture.is_held());
}

TEST(VolumeClaimProtection, ABindingThatIsUnderWayIsWaitedFor) {
  for (const bool is_bound : {false, true}) {
    ProtectedClaim fixture;
    fixture.api.put(Kind::Pod, user_of_claim("a", "", ""));
    fixture.start();
    delete_claim(fixture);
    EXPECT_TRUE(fixture.is_held());
    if (is_bound) fixture.api.change(Kind::Pod, "d", "a", R"({"spec":{"nodeName":"n"}})");
    fixture.advance(Duration::seconds(3));
    EXPECT_EQ(fixture.is_held(), is_bound);
  }
}

// A pod that is deleted in the foreground waits for its claim, which must not wait for the pod.
TEST(VolumeClaimProtection, AnEphemeralClaimIsFreeOnceItsPodIsShutDown) {
  EngineFixture fixture;
  fixture.engine.add(make_volume_claim_protection());
  fixture.api.put(Kind::PersistentVolumeClaim,
                  R"({"metadata":{"namespace":"d","name":"a-v","uid":"u-v","finalizers":)"
                  R"(["kubernetes.io/pvc-protection"],"deletionTimestamp":"2026-01-01T00:00:00Z",)"
                  R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"u-a",)"
                  R"("controller":true}]}})");
  fixture.api.put(Kind::Pod,
                  R"({"metadata":{"namespace":"d","name":"a","uid":"u-a","deletionGracePeriodSeconds":30,)"
                  R"("deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"nodeName":"n",)"
                  R"("volumes":[{"name":"v","ephemeral":{}}]}})");
  fixture.start();
  fixture.run_until_idle();
  const auto held = [&] { return fixture.api.find(Kind::PersistentVolumeClaim, "d", "a-v") != nullptr; };
  EXPECT_TRUE(held());
  fixture.api.change(Kind::Pod, "d", "a", R"({"metadata":{"deletionGracePeriodSeconds":0}})");
  fixture.run_until_idle();
  EXPECT_FALSE(held());
}

TEST(VolumeClaimProtection, AClaimFromBeforeGetsTheFinalizer) {
  EngineFixture fixture;
  fixture.engine.add(make_volume_claim_protection());
  fixture.api.put(Kind::PersistentVolumeClaim, R"({"metadata":{"namespace":"d","name":"c"}})");
  fixture.start();
  fixture.run_until_idle();
  EXPECT_EQ(finalizers_of_claim(fixture), (std::vector<std::string>{"kubernetes.io/pvc-protection"}));
}

TEST(VolumeProtection, ABoundVolumeStaysUntilItIsReleased) {
  EngineFixture fixture;
  fixture.engine.add(make_volume_protection());
  fixture.engine.add(make_persistent_volume_binder());
  fixture.api.put(Kind::PersistentVolumeClaim,
                  R"({"metadata":{"namespace":"d","name":"c","uid":"u-c"},"spec":{"volumeName":"v"}})");
  fixture.api.put(
      Kind::PersistentVolume,
      R"({"metadata":{"name":"v","finalizers":["example.com/other","kubernetes.io/pv-protection"]},)"
      R"("spec":)"
      R"({"claimRef":{"namespace":"d","name":"c","uid":"u-c"}},"status":{"phase":"Bound"}})");
  fixture.start();
  fixture.run_until_idle();
  fixture.api.change(Kind::PersistentVolume, "", "v",
                     R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  fixture.run_until_idle();
  const auto volume = [&] { return fixture.engine.view().volumes.find("", "v"); };
  EXPECT_EQ(volume()->meta.finalizers.size(), 2u);
  fixture.api.remove(api::ref_of(Kind::PersistentVolumeClaim), "d", "c");
  fixture.run_until_idle();
  EXPECT_EQ(volume()->phase, "Released");
  EXPECT_EQ(volume()->meta.finalizers, (std::vector<std::string>{"example.com/other"}));
}

TEST(AttributesClassProtection, AClassStaysWhileAnObjectNamesIt) {
  constexpr const char* kUsers[][2] = {
      {"{\"spec\":{\"volumeAttributesClassName\":\"gold\"}}",
       "{\"spec\":{\"volumeAttributesClassName\":null}}"},
      {"{\"status\":{\"currentVolumeAttributesClassName\":\"gold\"}}", "{\"status\":null}"},
      {"{\"status\":{\"modifyVolumeStatus\":{\"targetVolumeAttributesClassName\":\"gold\"}}}",
       "{\"status\":null}"},
  };
  for (const Kind kind : {Kind::PersistentVolumeClaim, Kind::PersistentVolume})
    for (const auto& [named, not_named] : kUsers) {
      const bool is_claim = kind == Kind::PersistentVolumeClaim;
      if (!is_claim && std::string_view(named).starts_with("{\"status\"")) continue;
      EngineFixture fixture;
      fixture.engine.add(make_attributes_class_protection());
      const api::ResourceRef classes{"storage.k8s.io", "v1", "volumeattributesclasses"};
      fixture.api.put(classes,
                      *parse_json(R"({"metadata":{"name":"gold","deletionTimestamp":"2026-01-01T00:00:00Z",)"
                                  R"("finalizers":["kubernetes.io/vac-protection"]}})"));
      const char* const ns = is_claim ? "d" : "";
      fixture.api.put(kind, is_claim ? R"({"metadata":{"namespace":"d","name":"x"},"spec":{}})"
                                     : R"({"metadata":{"name":"x"},"spec":{}})");
      fixture.api.change(kind, ns, "x", named);
      fixture.start();
      fixture.run_until_idle();
      const auto held = [&] { return fixture.api.find(classes, "", "gold") != nullptr; };
      EXPECT_TRUE(held()) << named;
      fixture.api.change(kind, ns, "x", not_named);
      fixture.run_until_idle();
      EXPECT_FALSE(held()) << named;
    }
}

}  // namespace
}  // namespace berth::controllers
