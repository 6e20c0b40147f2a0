#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using engine::testing::EngineFixture;

constexpr const char* kSimulated = R"({"metadata":{"name":"n","labels":{"berth.dev/simulated":"true"}}})";

void put_pod(EngineFixture& fixture, const char* node, bool deleting) {
  std::string pod = R"({"metadata":{"namespace":"d","name":"p")";
  if (deleting) pod += R"(,"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":30)";
  fixture.api.put(Kind::Pod, pod + R"(},"spec":{"nodeName":")" + node + R"("}})");
}

struct PodGcCase {
  const char* name;
  const char* bound_to;
  bool deleting;
  bool ends_at_once;
  bool ends_after_a_minute;
};

TEST(PodGc, WhichPodsEndAndWhen) {
  const PodGcCase cases[] = {
      {"deleted on a simulated node", "n", true, true, true},
      {"alive on a simulated node", "n", false, false, false},
      {"deleted on a real node", "real", true, false, false},
      {"deleted on an absent node", "absent", true, true, true},
      {"alive on an absent node", "absent", false, false, true},
      {"deleted and unbound", "", true, false, false},
  };
  for (const PodGcCase& test : cases) {
    SCOPED_TRACE(test.name);
    EngineFixture fixture;
    fixture.engine.add(make_pod_gc());
    fixture.api.put(Kind::Node, kSimulated);
    fixture.api.put(Kind::Node, R"({"metadata":{"name":"real"}})");
    put_pod(fixture, test.bound_to, test.deleting);
    fixture.start();
    fixture.run_until_idle();
    EXPECT_EQ(fixture.api.find(Kind::Pod, "d", "p") == nullptr, test.ends_at_once);
    fixture.advance(Duration::minutes(1));
    EXPECT_EQ(fixture.api.find(Kind::Pod, "d", "p") == nullptr, test.ends_after_a_minute);
  }
}

TEST(PodGc, ANodeThatComesBackInTimeKeepsItsPods) {
  EngineFixture fixture;
  fixture.engine.add(make_pod_gc());
  put_pod(fixture, "n", false);
  fixture.start();
  fixture.advance(Duration::seconds(39));
  fixture.api.put(Kind::Node, kSimulated);
  fixture.advance(Duration::minutes(5));
  EXPECT_NE(fixture.api.find(Kind::Pod, "d", "p"), nullptr);
}

TEST(PodGc, AFinalizerOfOthersIsWaitedForWithoutRepeats) {
  EngineFixture fixture;
  fixture.engine.add(make_pod_gc());
  fixture.api.put(Kind::Node, kSimulated);
  put_pod(fixture, "n", true);
  fixture.api.change(Kind::Pod, "d", "p", R"({"metadata":{"finalizers":["example.com/hold"]}})");
  fixture.start();
  fixture.advance(Duration::minutes(1));
  EXPECT_EQ(fixture.api.log.size(), 1u);
}

}  // namespace
}  // namespace berth::controllers
