#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using engine::testing::EngineFixture;

const Json& claim_in(const EngineFixture& fixture, const std::string& name = "c") {
  return *fixture.api.find(Kind::PersistentVolumeClaim, "d", name);
}
const Json& volume_in(const EngineFixture& fixture, const std::string& name = "v") {
  return *fixture.api.find(Kind::PersistentVolume, "", name);
}
std::string phase_of(const Json& object) {
  return std::string(object.part("status").string_at("phase"));
}

void put_class(EngineFixture& fixture, const char* mode) {
  fixture.api.put(Kind::StorageClass, std::string(R"({"metadata":{"name":"k"},"provisioner":"drv",)") +
                                          R"("volumeBindingMode":")" + mode + R"("})");
}
void put_claim(EngineFixture& fixture, const std::string& name, const std::string& spec = "") {
  fixture.api.put(Kind::PersistentVolumeClaim,
                  R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name +
                      R"("},"spec":{"storageClassName":"k","accessModes":["ReadWriteOnce"],)" + spec +
                      R"("resources":{"requests":{"storage":"5Gi"}}}})");
}
void put_volume(EngineFixture& fixture, const std::string& name, const std::string& size,
                const std::string& spec = "") {
  fixture.api.put(Kind::PersistentVolume,
                  R"({"metadata":{"name":")" + name + R"("},"spec":{"storageClassName":"k",)" + spec +
                      R"("accessModes":["ReadWriteOnce"],"capacity":{"storage":")" + size + R"("}}})");
}

void start(EngineFixture& fixture) {
  fixture.engine.add(make_persistent_volume_binder());
  fixture.start();
  fixture.run_until_idle();
}

TEST(PersistentVolumeBinder, BindsAnImmediateClaimToTheSmallestVolume) {
  EngineFixture fixture;
  put_class(fixture, "Immediate");
  put_volume(fixture, "large", "9Gi");
  put_volume(fixture, "small", "5Gi");
  put_volume(fixture, "tiny", "1Gi");
  put_claim(fixture, "c");
  start(fixture);
  EXPECT_EQ(claim_in(fixture).part("spec").string_at("volumeName"), "small");
  EXPECT_EQ(phase_of(claim_in(fixture)), "Bound");
  EXPECT_EQ(claim_in(fixture).part("status").part("capacity").string_at("storage"), "5Gi");
  EXPECT_EQ(volume_in(fixture, "small").part("spec").part("claimRef").string_at("uid"), "u-c");
  EXPECT_EQ(phase_of(volume_in(fixture, "small")), "Bound");
  EXPECT_EQ(phase_of(volume_in(fixture, "tiny")), "Available");
}

TEST(PersistentVolumeBinder, ABoundClaimSaysTheAttributesClassOfItsVolume) {
  EngineFixture fixture;
  put_class(fixture, "Immediate");
  put_volume(fixture, "v", "5Gi", R"("volumeAttributesClassName":"gold",)");
  put_claim(fixture, "c", R"("volumeAttributesClassName":"gold",)");
  start(fixture);
  EXPECT_EQ(phase_of(claim_in(fixture)), "Bound");
  EXPECT_EQ(claim_in(fixture).part("status").string_at("currentVolumeAttributesClassName"), "gold");
}

TEST(PersistentVolumeBinder, AClaimWithoutAClassGetsTheNewestDefault) {
  const auto put_default = [](EngineFixture& fixture, const char* name, const char* created,
                              const char* is_default) {
    fixture.api.put(Kind::StorageClass, std::string(R"({"metadata":{"name":")") + name +
                                            R"(","creationTimestamp":")" + created + R"(","annotations":{)" +
                                            R"("storageclass.kubernetes.io/is-default-class":")" +
                                            is_default + R"("}},"provisioner":"drv"})");
  };
  const auto put_plain_claim = [](EngineFixture& fixture, const std::string& name, const char* spec) {
    fixture.api.put(Kind::PersistentVolumeClaim, R"({"metadata":{"namespace":"d","name":")" + name +
                                                     R"(","uid":"u-)" + name + R"("},"spec":{)" + spec +
                                                     R"("accessModes":["ReadWriteOnce"]}})");
  };
  EngineFixture fixture;
  put_plain_claim(fixture, "none", "");
  put_plain_claim(fixture, "empty", R"("storageClassName":"",)");
  start(fixture);
  EXPECT_EQ(claim_in(fixture, "none").part("spec").find("storageClassName"), nullptr);
  put_default(fixture, "never", "2026-03-01T00:00:00Z", "false");
  put_default(fixture, "old", "2026-01-01T00:00:00Z", "true");
  fixture.run_until_idle();
  EXPECT_EQ(claim_in(fixture, "none").part("spec").string_at("storageClassName"), "old");
  EXPECT_EQ(claim_in(fixture, "empty").part("spec").string_at("storageClassName"), "");
  put_default(fixture, "new", "2026-02-01T00:00:00Z", "true");
  put_plain_claim(fixture, "next", "");
  fixture.run_until_idle();
  EXPECT_EQ(claim_in(fixture, "next").part("spec").string_at("storageClassName"), "new");
  EXPECT_EQ(claim_in(fixture, "none").part("spec").string_at("storageClassName"), "old");
}

TEST(PersistentVolumeBinder, TwoClaimsNeverShareAVolume) {
  EngineFixture fixture;
  put_class(fixture, "Immediate");
  put_volume(fixture, "v", "9Gi");
  put_claim(fixture, "c");
  put_claim(fixture, "e");
  start(fixture);
  EXPECT_NE(claim_in(fixture, "c").part("spec").string_at("volumeName"),
            claim_in(fixture, "e").part("spec").string_at("volumeName"));
}

TEST(PersistentVolumeBinder, AClaimThatWaitsIsBoundOnceAVolumeIsReservedForIt) {
  EngineFixture fixture;
  put_class(fixture, "WaitForFirstConsumer");
  put_volume(fixture, "v", "9Gi");
  put_claim(fixture, "c");
  start(fixture);
  EXPECT_EQ(phase_of(claim_in(fixture)), "");
  EXPECT_EQ(phase_of(volume_in(fixture)), "Available");
  fixture.api.change(Kind::PersistentVolume, "", "v",
                     R"({"spec":{"claimRef":{"namespace":"d","name":"c","uid":"u-c"}}})");
  fixture.run_until_idle();
  EXPECT_EQ(phase_of(claim_in(fixture)), "Bound");
  EXPECT_EQ(phase_of(volume_in(fixture)), "Bound");
}

TEST(PersistentVolumeBinder, CompletesABindingThatWasWrittenByHand) {
  for (const bool on_claim : {true, false}) {
    EngineFixture fixture;
    put_class(fixture, "WaitForFirstConsumer");
    put_volume(fixture, "v", "9Gi", on_claim ? "" : R"("claimRef":{"namespace":"d","name":"c"},)");
    put_claim(fixture, "c", on_claim ? R"("volumeName":"v",)" : "");
    start(fixture);
    EXPECT_EQ(phase_of(claim_in(fixture)), "Bound");
    EXPECT_EQ(volume_in(fixture).part("spec").part("claimRef").string_at("uid"), "u-c");
  }
}

TEST(PersistentVolumeBinder, AVolumeWithoutItsClaimIsReleased) {
  EngineFixture fixture;
  put_class(fixture, "Immediate");
  put_volume(fixture, "v", "9Gi");
  put_claim(fixture, "c");
  start(fixture);
  fixture.api.remove(api::ref_of(Kind::PersistentVolumeClaim), "d", "c");
  fixture.run_until_idle();
  EXPECT_EQ(phase_of(volume_in(fixture)), "Released");
}

}  // namespace
}  // namespace berth::controllers
