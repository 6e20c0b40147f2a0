#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "controllers/taint_rule_status.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using engine::testing::put;

constexpr const char* kBoundPod =
    R"({"metadata":{"namespace":"d","name":"a","uid":"uid-a"},"spec":{"nodeName":"n",)"
    R"("resourceClaims":[{"name":"c","resourceClaimName":"c"}]}})";

std::string claim(const std::string& tolerations) {
  return R"({"metadata":{"namespace":"d","name":"c"},"status":{"allocation":{"devices":{"results":)"
         R"([{"request":"r","driver":"x","pool":"p","device":"0","tolerations":[)" +
         tolerations + R"(]}]}},"reservedFor":[{"resource":"pods","name":"a","uid":"uid-a"}]}})";
}

std::string slice(const std::string& name, int generation, const std::string& taints) {
  return R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"x","pool":{"name":"p","generation":)" +
         std::to_string(generation) + R"(},"devices":[{"name":"0","taints":[)" + taints + "]}]}}";
}

constexpr const char* kBroken = R"({"key":"broken","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"})";

TEST(DeviceEviction, ComesWithTheShortestTolerationThatMatches) {
  struct Row {
    std::string tolerations;
    std::int64_t seconds;  // after timeAdded; -1: never
  };
  const Row rows[] = {
      {"", 0},
      {R"({"key":"other","operator":"Exists"})", 0},
      {R"({"key":"broken","operator":"Exists","effect":"NoSchedule"})", 0},
      {R"({"key":"broken","operator":"Exists","effect":"NoExecute"})", -1},
      {R"({"operator":"Exists"})", -1},
      {R"({"operator":"Exists","tolerationSeconds":60},{"key":"broken","operator":"Exists",)"
       R"("tolerationSeconds":20})",
       20},
      {R"({"operator":"Exists","tolerationSeconds":-5})", 0},
      {R"({"operator":"Exists","tolerationSeconds":20},{"operator":"Exists"})", -1},
      {R"({"operator":"Exists","tolerationSeconds":9223372036854775807})", -1},
  };
  const Time added = parse_time("2026-01-01T00:00:00Z").value();
  for (const Row& row : rows) {
    client::View view;
    put(view, Kind::Pod, kBoundPod);
    put(view, Kind::ResourceClaim, claim(row.tolerations));
    put(view, Kind::ResourceSlice, slice("s", 1, kBroken));
    const auto eviction = device_eviction(view, *view.pods.find("d", "a"), {});
    ASSERT_EQ(eviction.has_value(), row.seconds >= 0) << row.tolerations;
    const Time when = eviction ? eviction->when : added + Duration::seconds(row.seconds);
    EXPECT_EQ(when, added + Duration::seconds(row.seconds)) << row.tolerations;
  }
}

TEST(DeviceEviction, LooksAtTheNewestGenerationAndAtHoldersOnly) {
  client::View view;
  put(view, Kind::Pod, kBoundPod);
  put(view, Kind::ResourceClaim, claim(""));
  put(view, Kind::ResourceSlice, slice("old", 1, kBroken));
  put(view, Kind::ResourceSlice, slice("new", 2, ""));
  EXPECT_FALSE(device_eviction(view, *view.pods.find("d", "a"), {}));
  put(view, Kind::ResourceSlice, slice("newer", 3, kBroken));
  EXPECT_TRUE(device_eviction(view, *view.pods.find("d", "a"), {}));
  put(view, Kind::Pod,
      R"({"metadata":{"namespace":"d","name":"b","uid":"uid-b"},"spec":{"nodeName":"n",)"
      R"("resourceClaims":[{"name":"c","resourceClaimName":"c"}]}})");
  EXPECT_FALSE(device_eviction(view, *view.pods.find("d", "b"), {}));
}

TEST(DeviceEviction, TakesTheMembersOfAGroupThatIsDisruptedAsAUnit) {
  for (const auto& [mode, together] : {std::pair("all", true), std::pair("single", false)}) {
    client::View view;
    put(view, Kind::PodGroup,
        std::string(R"({"metadata":{"namespace":"d","name":"g","uid":"g1"},)"
                    R"("spec":{"disruptionMode":{")") +
            mode + R"(":{}}}})");
    put(view, Kind::Pod,
        R"({"metadata":{"namespace":"d","name":"a","uid":"uid-a"},)"
        R"("spec":{"nodeName":"n","schedulingGroup":{"podGroupName":"g"},)"
        R"("resourceClaims":[{"name":"c","resourceClaimName":"c"}]}})");
    put(view, Kind::Pod,
        R"({"metadata":{"namespace":"d","name":"b","uid":"uid-b"},"spec":{"nodeName":"n",)"
        R"("schedulingGroup":{"podGroupName":"g"}}})");
    put(view, Kind::ResourceClaim, claim(""));
    put(view, Kind::ResourceSlice, slice("s", 1, kBroken));
    EXPECT_TRUE(device_eviction(view, *view.pods.find("d", "a"), {}));
    EXPECT_EQ(device_eviction(view, *view.pods.find("d", "b"), {}).has_value(), together) << mode;
    EXPECT_EQ(disrupted_with(view, *view.pods.find("d", "a")).size(), together ? 2u : 1u);
  }
}

TEST(DeviceEviction, SaysItInThePodThenDeletesExactlyThatPod) {
  client::View view;
  put(view, Kind::Pod, kBoundPod);
  put(view, Kind::ResourceClaim, claim(""));
  put(view, Kind::ResourceSlice, slice("s", 1, kBroken));
  const auto controller = make_device_taint_eviction();
  const client::Effects effects =
      controller->reconcile(view, {Kind::Pod, "d", "a", {}}, parse_time("2026-01-01T00:00:01Z").value());
  ASSERT_EQ(effects.chains.size(), 1u);
  const auto& writes = effects.chains[0].writes;
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_NE(writes[0].request.body.find("DeletionByDeviceTaintManager"), std::string::npos);
  EXPECT_EQ(writes[1].request.verb, client::Verb::Delete);
  EXPECT_NE(writes[1].request.body.find("uid-a"), std::string::npos);
  ASSERT_EQ(effects.events.size(), 1u);
  EXPECT_EQ(effects.events[0].message, "Marking for deletion");
}

TEST(TaintRuleStatus, CountsInTheWordsOfKubernetes) {
  api::DeviceTaintRule rule;
  rule.taint.effect = "NoExecute";
  TaintRuleProgress progress;
  const auto text = [&] {
    const api::Condition condition = eviction_condition(rule, progress, Time::from_seconds(1));
    return condition.status + " " + condition.reason + ": " + condition.message;
  };
  EXPECT_EQ(text(), "False NotStarted: ");
  progress.pods_pending = 3;
  progress.namespaces_pending = 2;
  progress.pods_evicted = 1;
  EXPECT_EQ(text(),
            "True PodsPendingEviction: 3 pods need to be evicted in 2 different namespaces. 1 pod evicted "
            "since starting the controller.");
  progress.pods_pending = 0;
  EXPECT_EQ(text(), "False Completed: 1 pod evicted since starting the controller.");
  rule.taint.effect = "Confetti";
  progress = {};
  EXPECT_EQ(text(), "False OtherEffect: Eviction only happens for the NoExecute effect.");
}

}  // namespace
}  // namespace berth::controllers
