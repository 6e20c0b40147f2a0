#include "controllers/autoscaler_behavior.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

struct BehaviorStep {
  int second;
  std::int64_t wanted;    // by the metrics
  std::int64_t replicas;  // that it becomes
  const char* able;       // reasons
  const char* limited;
};

// Each step begins with the replicas of the one before.
void expect_steps(const char* behavior, std::int64_t replicas, const std::vector<BehaviorStep>& steps) {
  Json spec = Json::object({{"minReplicas", 1}, {"maxReplicas", 100}});
  if (*behavior) spec["behavior"] = parse_json(behavior).value();
  ScalingHistory history;
  const Time start = Time::from_seconds(1'800'000'000);
  for (const BehaviorStep& step : steps) {
    SCOPED_TRACE(std::string(behavior) + " at " + std::to_string(step.second));
    const Time now = start + Duration::seconds(step.second);
    if (history.recommended.empty()) history.note_recommended(replicas, now);
    const ScalingLimits limits = limited_replicas(spec, replicas, step.wanted, history, now);
    EXPECT_EQ(limits.replicas, step.replicas);
    EXPECT_EQ(limits.able_to_scale.reason, step.able);
    EXPECT_EQ(limits.scaling_limited.reason, step.limited);
    history.note_scaled(replicas, limits.replicas, now);
    replicas = limits.replicas;
  }
}

constexpr const char* kReadyToScale = "ReadyForNewScale";
constexpr const char* kInRange = "DesiredWithinRange";

TEST(AutoscalerBehavior, WithoutOneReplicasAtMostDoubleAndGoAfterFiveMinutes) {
  expect_steps("", 1,
               {{0, 30, 4, kReadyToScale, "ScaleUpLimit"},
                {15, 30, 8, kReadyToScale, "ScaleUpLimit"},
                {30, 9, 9, kReadyToScale, kInRange},
                {45, 2, 9, "ScaleDownStabilized", kInRange},
                {315, 2, 9, "ScaleDownStabilized", kInRange},
                {331, 2, 2, kReadyToScale, kInRange},
                {346, 0, 2, "ScaleDownStabilized", kInRange},
                {700, 0, 1, kReadyToScale, "TooFewReplicas"}});
}

TEST(AutoscalerBehavior, AWindowUpTakesTheLowestRecommendation) {
  expect_steps(R"({"scaleUp":{"stabilizationWindowSeconds":60,"selectPolicy":"Max","policies":[
                   {"type":"Percent","value":900,"periodSeconds":15}]}})",
               2,
               {{0, 8, 2, "ScaleUpStabilized", kInRange},
                {30, 6, 2, "ScaleUpStabilized", kInRange},
                {61, 9, 6, "ScaleUpStabilized", kInRange},
                {90, 9, 9, kReadyToScale, kInRange}});
}

// The examples of Kubernetes' page: 10 % of 80 is 8; 10 % of 72 is 7.2, which counts as 8.
TEST(AutoscalerBehavior, PoliciesBoundTheChangeOfTheirPeriod) {
  const std::string percent = R"({"type":"Percent","value":10,"periodSeconds":60})";
  const std::string pods = R"({"type":"Pods","value":5,"periodSeconds":60})";
  const auto down = [](const std::string& policies, const std::string& select) {
    return R"({"scaleDown":{"stabilizationWindowSeconds":0,"selectPolicy":")" + select + R"(","policies":[)" +
           policies + "]}}";
  };
  expect_steps(down(percent, "Max").c_str(), 80,
               {{0, 10, 72, kReadyToScale, "ScaleDownLimit"},
                {30, 10, 72, kReadyToScale, "ScaleDownLimit"},
                {60, 10, 64, kReadyToScale, "ScaleDownLimit"}});
  expect_steps(down(percent + "," + pods, "Max").c_str(), 30, {{0, 10, 25, kReadyToScale, "ScaleDownLimit"}});
  expect_steps(down(percent + "," + pods, "Min").c_str(), 30, {{0, 10, 27, kReadyToScale, "ScaleDownLimit"}});
  expect_steps(down(pods, "Disabled").c_str(), 30, {{0, 10, 30, kReadyToScale, "ScaleDownLimit"}});
  expect_steps(R"({"scaleUp":{"stabilizationWindowSeconds":0,"selectPolicy":"Max","policies":[
                   {"type":"Pods","value":4,"periodSeconds":60}]}})",
               10,
               {{0, 30, 14, kReadyToScale, "ScaleUpLimit"},
                {30, 30, 14, kReadyToScale, "ScaleUpLimit"},
                {60, 30, 18, kReadyToScale, "ScaleUpLimit"},
                {75, 16, 18, "ScaleDownStabilized", kInRange}});
}

TEST(AutoscalerBehavior, TheSpecBoundsTheReplicas) {
  expect_steps(R"({"scaleUp":{"stabilizationWindowSeconds":0,"selectPolicy":"Max","policies":[
                   {"type":"Percent","value":100,"periodSeconds":15}]}})",
               60, {{0, 200, 100, kReadyToScale, "TooManyReplicas"}});
}

TEST(AutoscalerBehavior, AHistoryForgetsWhatNoWindowReaches) {
  ScalingHistory history;
  const Time start = Time::from_seconds(1'800'000'000);
  for (int second = 0; second < 100'000; second += 15)
    history.note_recommended(1, start + Duration::seconds(second));
  EXPECT_EQ(history.recommended.size(), 241u) << "an hour, in steps of 15 s";
  for (int i = 0; i < 5'000; ++i) history.note_scaled(i, i + 1, start);
  EXPECT_EQ(history.added.size(), kScalingHistoryMax);
}

}  // namespace
}  // namespace berth::controllers
