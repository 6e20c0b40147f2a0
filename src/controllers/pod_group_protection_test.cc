#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;

TEST(PodGroupProtection, ADeletedGroupGoesWhenNoPodOfItCanRun) {
  engine::testing::EngineFixture fixture;
  fixture.engine.add(make_pod_group_protection());
  fixture.api.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g","finalizers":)"
                                  R"(["example.com/other","scheduling.k8s.io/podgroup-protection"]}})");
  for (const char* name : {"a", "b"})
    fixture.api.put(Kind::Pod, std::string(R"({"metadata":{"namespace":"d","name":")") + name +
                                   R"("},"spec":{"schedulingGroup":{"podGroupName":"g"}}})");
  fixture.start();
  fixture.api.change(Kind::PodGroup, "d", "g",
                     R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  fixture.run_until_idle();
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
  fixture.run_until_idle();
  EXPECT_TRUE(fixture.api.log.empty());
  fixture.api.change(Kind::Pod, "d", "b", R"({"status":{"phase":"Succeeded"}})");
  fixture.run_until_idle();
  EXPECT_EQ(fixture.engine.view().pod_groups.find("d", "g")->meta.finalizers,
            (std::vector<std::string>{"example.com/other"}));
}

TEST(PodGroupProtection, AGroupThatIsNotDeletedKeepsIt) {
  client::View view;
  engine::testing::put(
      view, Kind::PodGroup,
      R"({"metadata":{"namespace":"d","name":"g","finalizers":["scheduling.k8s.io/podgroup-protection"]}})");
  EXPECT_EQ(engine::testing::run(*make_pod_group_protection(), view, {Kind::PodGroup, "d", "g", {}}, Time()),
            "");
}

}  // namespace
}  // namespace berth::controllers
