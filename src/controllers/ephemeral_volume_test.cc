#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using engine::testing::EngineFixture;

void put_pod(EngineFixture& fixture, const std::string& phase) {
  fixture.api.put(Kind::Pod,
                  R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"},"status":{"phase":")" + phase +
                      R"("},"spec":{"volumes":[{"name":"tmp","emptyDir":{}},{"name":"scratch","ephemeral":{)"
                      R"("volumeClaimTemplate":{"metadata":{"labels":{"a":"b"}},)"
                      R"("spec":{"storageClassName":"k"}}}}]}})");
}

TEST(EphemeralVolume, MakesTheClaimOnceOwnedByThePod) {
  EngineFixture fixture;
  put_pod(fixture, "Pending");
  fixture.engine.add(make_ephemeral_volume());
  fixture.start();
  fixture.run_until_idle();
  const Json* claim = fixture.api.find(Kind::PersistentVolumeClaim, "d", "p-scratch");
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(claim->part("spec").string_at("storageClassName"), "k");
  EXPECT_EQ(claim->part("metadata").part("labels").string_at("a"), "b");
  const Json& owner = claim->part("metadata").items_at("ownerReferences").front();
  EXPECT_EQ(owner.string_at("uid"), "u-p");
  EXPECT_TRUE(owner.bool_at("controller"));
  EXPECT_EQ(fixture.api.log.size(), 1u);
  fixture.api.remove(api::ref_of(Kind::PersistentVolumeClaim), "d", "p-scratch");
  fixture.run_until_idle();
  EXPECT_EQ(fixture.api.log.size(), 2u);
}

TEST(EphemeralVolume, MakesNoneForAPodThatHasEnded) {
  EngineFixture fixture;
  put_pod(fixture, "Succeeded");
  fixture.engine.add(make_ephemeral_volume());
  fixture.start();
  fixture.run_until_idle();
  EXPECT_TRUE(fixture.api.log.empty());
}

}  // namespace
}  // namespace berth::controllers
