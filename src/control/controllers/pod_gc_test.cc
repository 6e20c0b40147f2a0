#include <gtest/gtest.h>

#include "control/controllers/controllers.h"
#include "control/testing/engine_fixture.h"

namespace berth::control {
namespace {

using api::Kind;
using testing::World;

constexpr const char* kSimulated = R"({"metadata":{"name":"n","labels":{"berth.dev/simulated":"true"}}})";

void put_pod(World& world, const char* node, bool deleting) {
  std::string pod = R"({"metadata":{"namespace":"d","name":"p")";
  if (deleting) pod += R"(,"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":30)";
  world.api.put(Kind::Pod, pod + R"(},"spec":{"nodeName":")" + node + R"("}})");
}

struct Case {
  const char* name;
  const char* bound_to;
  bool deleting;
  bool ends_at_once;
  bool ends_after_a_minute;
};

TEST(PodFinisher, WhoEndsAndWhen) {
  const Case cases[] = {
      {"deleted on a simulated node", "n", true, true, true},
      {"alive on a simulated node", "n", false, false, false},
      {"deleted on a real node", "real", true, false, false},
      {"deleted on an absent node", "absent", true, true, true},
      {"alive on an absent node", "absent", false, false, true},
      {"deleted and unbound", "", true, false, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    World world;
    world.engine.add(make_pod_finisher());
    world.api.put(Kind::Node, kSimulated);
    world.api.put(Kind::Node, R"({"metadata":{"name":"real"}})");
    put_pod(world, test.bound_to, test.deleting);
    world.start();
    world.settle();
    EXPECT_EQ(world.api.find(Kind::Pod, "d", "p") == nullptr, test.ends_at_once);
    world.advance(Duration::minutes(1));
    EXPECT_EQ(world.api.find(Kind::Pod, "d", "p") == nullptr, test.ends_after_a_minute);
  }
}

TEST(PodFinisher, ANodeThatComesBackInTimeKeepsItsPods) {
  World world;
  world.engine.add(make_pod_finisher());
  put_pod(world, "n", false);
  world.start();
  world.advance(Duration::seconds(39));
  world.api.put(Kind::Node, kSimulated);
  world.advance(Duration::minutes(5));
  EXPECT_NE(world.api.find(Kind::Pod, "d", "p"), nullptr);
}

TEST(PodFinisher, AFinalizerOfOthersIsWaitedForWithoutRepeats) {
  World world;
  world.engine.add(make_pod_finisher());
  world.api.put(Kind::Node, kSimulated);
  put_pod(world, "n", true);
  world.api.change(Kind::Pod, "d", "p", R"({"metadata":{"finalizers":["example.com/hold"]}})");
  world.start();
  world.advance(Duration::minutes(1));
  EXPECT_EQ(world.api.log.size(), 1u);
}

}  // namespace
}  // namespace berth::control
