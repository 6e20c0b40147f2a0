#include "plane/controller_names.h"

#include <gtest/gtest.h>

namespace berth::plane {
namespace {

using Names = std::vector<std::string>;

TEST(ControllerNames, AreThoseOfKubeControllerManager) {
  for (const char* name :
       {"*", "-*", "disruption", "-garbagecollector", "taint-eviction-controller", "job", "-podgc"})
    EXPECT_TRUE(is_controller_name(name)) << name;
  for (const char* name : {"", "-", "event-ttl", "garbage_collector", "deployments"})
    EXPECT_FALSE(is_controller_name(name)) << name;
}

TEST(ControllerNames, SwitchOffByNameAndAlias) {
  EXPECT_TRUE(runs_controller(kGarbageCollectorName, Names{"*"}));
  EXPECT_FALSE(runs_controller(kGarbageCollectorName, Names{"*", "-garbagecollector"}));
  EXPECT_FALSE(runs_controller("resourceclaim-controller", Names{"job"}));
  EXPECT_TRUE(runs_controller("job-controller", Names{"-*", "job"}));
  EXPECT_FALSE(runs_controller("resourceclaim-controller", Names{"-*", "job"}));
  EXPECT_FALSE(runs_controller("resourceclaim-controller", Names{"*", "-*", "job"}));
}

TEST(ControllerNames, AResourceWithoutItsControllerIsOnlyStored) {
  EXPECT_EQ(resources_without_controller(Names{"*"}), Names());
  EXPECT_EQ(resources_without_controller(Names{"*", "-deployment", "-disruption"}),
            (Names{"deployments.apps", "poddisruptionbudgets.policy"}));
}

}  // namespace
}  // namespace berth::plane
