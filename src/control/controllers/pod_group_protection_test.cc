#include <gtest/gtest.h>

#include "control/controllers/controllers.h"
#include "control/testing/engine_fixture.h"

namespace berth::control {
namespace {

using api::Kind;

TEST(PodGroupProtection, ADeletedGroupGoesWhenNoPodOfItCanRun) {
  testing::World world;
  world.engine.add(make_pod_group_protection());
  world.api.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g","finalizers":)"
                                R"(["example.com/other","scheduling.k8s.io/podgroup-protection"]}})");
  for (const char* name : {"a", "b"})
    world.api.put(Kind::Pod, std::string(R"({"metadata":{"namespace":"d","name":")") + name +
                                 R"("},"spec":{"schedulingGroup":{"podGroupName":"g"}}})");
  world.start();
  world.api.change(Kind::PodGroup, "d", "g", R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  world.settle();
  world.api.remove(api::ref_of(Kind::Pod), "d", "a");
  world.settle();
  EXPECT_TRUE(world.api.log.empty());
  world.api.change(Kind::Pod, "d", "b", R"({"status":{"phase":"Succeeded"}})");
  world.settle();
  EXPECT_EQ(world.engine.view().pod_groups.find("d", "g")->meta.finalizers,
            (std::vector<std::string>{"example.com/other"}));
}

TEST(PodGroupProtection, AGroupThatIsNotDeletedKeepsIt) {
  client::View view;
  testing::put(
      view, Kind::PodGroup,
      R"({"metadata":{"namespace":"d","name":"g","finalizers":["scheduling.k8s.io/podgroup-protection"]}})");
  EXPECT_EQ(testing::run(*make_pod_group_protection(), view, {Kind::PodGroup, "d", "g", {}}, Time()), "");
}

}  // namespace
}  // namespace berth::control
