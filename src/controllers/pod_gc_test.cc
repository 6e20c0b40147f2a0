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
      {"deleted on a simulated node, which ends its pods itself", "n", true, false, false},
      {"alive on a simulated node", "n", false, false, false},
      {"deleted on a real node", "real", true, false, false},
      {"deleted on an absent node", "absent", true, true, true},
      {"alive on an absent node", "absent", false, false, true},
      {"deleted and unbound", "", true, true, true},
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

TEST(PodGc, ANodeThatTheWatchHasNotShownYetIsLookedUp) {
  EngineFixture fixture;
  fixture.engine.add(make_pod_gc());
  fixture.start();
  fixture.run_until_idle();
  fixture.api.put(Kind::Node, R"({"metadata":{"name":"late"}})");
  put_pod(fixture, "late", true);
  fixture.api.deliver(api::ref_of(Kind::Pod));
  fixture.step();
  while (fixture.api.answer()) fixture.step();
  fixture.run_until_idle();
  fixture.advance(Duration::minutes(1));
  EXPECT_NE(fixture.api.find(Kind::Pod, "d", "p"), nullptr);
}

TEST(PodGc, OfPodsThatEndedTheOldestGo) {
  EngineFixture fixture;
  fixture.engine.add(make_pod_gc());
  const auto put = [&](const std::string& name, const char* created, const char* phase) {
    fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name +
                                   R"(","creationTimestamp":")" + created + R"("},"status":{"phase":")" +
                                   phase + "\"}}");
  };
  put("runs", "2026-01-01T00:00:00Z", "Running");
  put("oldest", "2026-01-02T00:00:00Z", "Failed");
  put("old", "2026-01-03T00:00:00Z", "Succeeded");
  for (std::size_t i = 0; i < kEndedPodsMax; ++i)
    put("p" + std::to_string(i), "2026-01-04T00:00:00Z", "Succeeded");
  fixture.start();
  fixture.run_until_idle();
  EXPECT_NE(fixture.api.find(Kind::Pod, "d", "runs"), nullptr);
  EXPECT_EQ(fixture.api.find(Kind::Pod, "d", "oldest"), nullptr);
  EXPECT_EQ(fixture.api.find(Kind::Pod, "d", "old"), nullptr);
  EXPECT_EQ(fixture.api.all(api::ref_of(Kind::Pod)).size(), kEndedPodsMax + 1);
}

// No kubelet writes the phase for which a Job's controller waits.
TEST(PodGc, APodThatAFinalizerHoldsHasFailed) {
  struct Case {
    const char* bound_to;
    std::size_t requests;
    const char* reason;
  };
  for (const Case& test : {Case{"", 2, ""}, Case{"absent", 3, "DeletionByPodGC"}}) {
    EngineFixture fixture;
    fixture.engine.add(make_pod_gc());
    put_pod(fixture, test.bound_to, true);
    fixture.api.change(Kind::Pod, "d", "p", R"({"metadata":{"finalizers":["example.com/hold"]}})");
    fixture.start();
    fixture.advance(Duration::minutes(1));
    EXPECT_EQ(fixture.api.log.size(), test.requests) << "and nothing is repeated";
    const Json& status = fixture.api.find(Kind::Pod, "d", "p")->part("status");
    EXPECT_EQ(status.string_at("phase"), "Failed");
    const JsonArray& conditions = status.items_at("conditions");
    EXPECT_EQ(conditions.empty() ? "" : conditions.front().string_at("reason"), test.reason);
  }
}

TEST(PodGc, APodThatEndedKeepsItsPhase) {
  EngineFixture fixture;
  fixture.engine.add(make_pod_gc());
  put_pod(fixture, "absent", true);
  fixture.api.change(Kind::Pod, "d", "p",
                     R"({"metadata":{"finalizers":["example.com/hold"]},"status":{"phase":"Succeeded"}})");
  fixture.start();
  fixture.advance(Duration::minutes(1));
  EXPECT_EQ(fixture.api.find(Kind::Pod, "d", "p")->part("status").string_at("phase"), "Succeeded");
}

}  // namespace
}  // namespace berth::controllers
