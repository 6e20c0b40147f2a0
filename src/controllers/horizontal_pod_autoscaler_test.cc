#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"
#include "workloads/conditions.h"
#include "workloads/objects.h"

namespace berth::controllers {
namespace {

using engine::testing::EngineFixture;
using engine::testing::InjectedFault;

const api::ResourceRef kScalers{"autoscaling", "v2", "horizontalpodautoscalers"};
const api::ResourceRef kDefined{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
const api::ResourceRef kWebs{"example.com", "v1", "webs"};
const api::ResourceRef kEvents = {"", "v1", "events"};

// Deployment d/web on a simulated node; its pods use what the test says.
class AutoscalerTest : public testing::Test {
 protected:
  AutoscalerTest() {
    fixture_.engine.add(make_horizontal_pod_autoscaler());
    fixture_.api.put(Kind::Node, R"({"metadata":{"name":"n","labels":{"berth.dev/simulated":"true"}}})");
  }
  void put_target(int replicas, const api::ResourceRef& resource = workloads::deployments()) {
    Json target =
        *parse_json(R"({"metadata":{"name":"web","namespace":"d"},"status":{"selector":"app=web"}})");
    target["spec"]["replicas"] = replicas;
    fixture_.api.put(resource, std::move(target));
  }
  void put_scaler(const std::string& name, const std::string& kind = "Deployment",
                  const std::string& version = "apps/v1", int generation = 1) {
    Json scaler = *parse_json(R"({"spec":{"minReplicas":1,"maxReplicas":5,"scaleTargetRef":{"name":"web"},
        "metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",
        "averageUtilization":50}}}]}})");
    scaler["metadata"] = Json::object({{"name", name}, {"namespace", "d"}, {"generation", generation}});
    scaler["spec"]["scaleTargetRef"]["kind"] = kind;
    scaler["spec"]["scaleTargetRef"]["apiVersion"] = version;
    fixture_.api.put(kScalers, std::move(scaler));
  }
  // Ready for an hour, with a request of 100m.
  void put_pods(int count, int millis) {
    const std::string since = format_time(fixture_.clock.now() - Duration::minutes(60));
    for (int i = 0; i < count; ++i)
      fixture_.api.put(
          Kind::Pod,
          R"({"metadata":{"name":"web-)" + std::to_string(i) +
              R"(","namespace":"d","labels":{"app":"web"},"annotations":{"berth.dev/usage":"cpu=)" +
              std::to_string(millis) +
              R"(m"}},"spec":{"nodeName":"n",
              "containers":[{"name":"c","resources":{"requests":{"cpu":"100m"}}}]},
              "status":{"phase":"Running","startTime":")" +
              since + R"(","conditions":[{"type":"Ready","status":"True","lastTransitionTime":")" + since +
              R"("},{"type":"ContainersReady","status":"True","lastTransitionTime":")" + since + R"("}]}})");
  }
  std::int64_t replicas(const api::ResourceRef& resource = workloads::deployments()) const {
    return fixture_.api.find(resource, "d", "web")->part("spec").int_at("replicas");
  }
  const Json& status(const std::string& name = "h") const {
    return fixture_.api.find(kScalers, "d", name)->part("status");
  }
  // "True SucceededRescale"
  std::string said(std::string_view type, const std::string& name = "h") const {
    const Json* condition = workloads::find_condition(status(name).items_at("conditions"), type);
    if (!condition) return "";
    return std::string(condition->string_at("status")) + " " + std::string(condition->string_at("reason"));
  }
  std::vector<std::string> events() const {
    std::vector<std::string> texts;
    for (const Json* event : fixture_.api.all(kEvents))
      texts.push_back(std::string(event->string_at("reason")) + ": " +
                      std::string(event->string_at("message")));
    return texts;
  }
  std::size_t scale_reads() const {
    return static_cast<std::size_t>(
        std::ranges::count(fixture_.api.log, "get apps/v1/deployments d/web/scale"));
  }

  EngineFixture fixture_;
};

TEST_F(AutoscalerTest, FollowsWhatThePodsUse) {
  put_target(2);
  put_pods(2, 80);
  put_scaler("h");
  fixture_.start();
  fixture_.run_until_idle();
  EXPECT_EQ(replicas(), 4) << "80 % of 50 %, of 2: 3.2";
  EXPECT_EQ(status().int_at("currentReplicas"), 2);
  EXPECT_EQ(status().int_at("desiredReplicas"), 4);
  EXPECT_EQ(status().int_at("observedGeneration"), 1);
  EXPECT_EQ(status().string_at("lastScaleTime"), format_time(fixture_.clock.now()));
  EXPECT_EQ(said("AbleToScale"), "True SucceededRescale");
  EXPECT_EQ(said("ScalingActive"), "True ValidMetricFound");
  EXPECT_EQ(said("ScalingLimited"), "False DesiredWithinRange");
  EXPECT_EQ(to_string(Json(status().items_at("currentMetrics"))),
            R"([{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":80,)"
            R"("averageValue":"80m"}}}])");

  put_pods(4, 40);
  const std::size_t reads = scale_reads();
  fixture_.advance(Duration::seconds(14));
  EXPECT_EQ(scale_reads(), reads) << "it looks every 15 s";
  fixture_.advance(Duration::seconds(2));
  EXPECT_EQ(scale_reads(), reads + 1);
  EXPECT_EQ(said("AbleToScale"), "True ReadyForNewScale");
  EXPECT_EQ(status().int_at("currentReplicas"), 4);

  put_pods(4, 10);
  fixture_.advance(Duration::minutes(4));
  EXPECT_EQ(replicas(), 4);
  EXPECT_EQ(said("AbleToScale"), "True ScaleDownStabilized");
  fixture_.advance(Duration::minutes(2));
  EXPECT_EQ(replicas(), 1);
  const std::vector<std::string> told = events();
  EXPECT_TRUE(std::ranges::count(
      told,
      "SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above "
      "target"))
      << told.size();
  EXPECT_TRUE(std::ranges::count(told, "SuccessfulRescale: New size: 1; reason: All metrics below target"));
}

TEST_F(AutoscalerTest, KeepsItsBoundsAndLeavesZeroAlone) {
  put_target(9);
  put_scaler("h");
  fixture_.start();
  fixture_.run_until_idle();
  EXPECT_EQ(replicas(), 5);
  EXPECT_EQ(events(), std::vector<std::string>{
                          "SuccessfulRescale: New size: 5; reason: Current number of replicas above "
                          "Spec.MaxReplicas"});
  put_target(0);
  fixture_.advance(Duration::seconds(16));
  EXPECT_EQ(replicas(), 0);
  EXPECT_EQ(said("ScalingActive"), "False ScalingDisabled");
}

TEST_F(AutoscalerTest, SaysWhatItCannotRead) {
  put_scaler("h");
  put_scaler("kind", "Gizmo", "example.com/v1");
  fixture_.start();
  fixture_.run_until_idle();
  EXPECT_EQ(said("AbleToScale"), "False FailedGetScale") << "there is no Deployment yet";
  EXPECT_EQ(said("AbleToScale", "kind"), "False FailedGetScale");
  EXPECT_TRUE(
      std::ranges::count(events(),
                         "FailedGetScale: unable to determine resource for scale target reference: no "
                         "matches for kind \"Gizmo\" in group \"example.com\""));
  put_target(2);
  fixture_.advance(Duration::seconds(16));
  EXPECT_EQ(said("AbleToScale"), "True SucceededGetScale");
  EXPECT_EQ(said("ScalingActive"), "False FailedGetResourceMetric") << "there are no pods yet";
  EXPECT_EQ(replicas(), 2);
}

TEST_F(AutoscalerTest, ScalesCustomResources) {
  fixture_.api.put(kDefined, *parse_json(R"({"metadata":{"name":"webs.example.com"},"spec":{
      "group":"example.com","names":{"plural":"webs","kind":"Web"},
      "versions":[{"name":"v2","served":false},{"name":"v1","served":true}]}})"));
  put_target(2, kWebs);
  put_pods(2, 80);
  put_scaler("h", "Web", "example.com/v2");
  fixture_.start();
  fixture_.run_until_idle();
  EXPECT_EQ(replicas(kWebs), 4);
}

TEST_F(AutoscalerTest, AChangedTargetIsReadAgain) {
  put_target(2);
  put_pods(2, 80);
  put_scaler("h");
  int conflicts = 2;
  fixture_.api.fault = [&](const client::ApiRequest& request) {
    const bool scales = request.subresource == "scale" && request.verb == client::Verb::MergePatch;
    return scales && conflicts-- > 0 ? InjectedFault::Conflict : InjectedFault::None;
  };
  fixture_.start();
  fixture_.run_until_idle();
  fixture_.advance(Duration::seconds(5));
  EXPECT_EQ(replicas(), 4);
  for (const std::string& text : events()) EXPECT_FALSE(text.starts_with("FailedRescale")) << text;
}

TEST_F(AutoscalerTest, ARefusedChangeIsToldAndTriedAgain) {
  put_target(2);
  put_pods(2, 80);
  put_scaler("h");
  bool refuses = true;
  fixture_.api.fault = [&](const client::ApiRequest& request) {
    const bool scales = request.subresource == "scale" && request.verb == client::Verb::MergePatch;
    return scales && refuses ? InjectedFault::Refused : InjectedFault::None;
  };
  fixture_.start();
  fixture_.advance(Duration::seconds(5));
  EXPECT_EQ(replicas(), 2);
  EXPECT_EQ(said("AbleToScale"), "False FailedUpdateScale");
  refuses = false;
  fixture_.advance(Duration::seconds(16));
  EXPECT_EQ(replicas(), 4);
  EXPECT_EQ(said("AbleToScale"), "True SucceededRescale");
}

TEST_F(AutoscalerTest, TwoOfTheSamePodsLeaveThemAlone) {
  put_target(2);
  put_pods(2, 40);
  put_scaler("a");
  put_scaler("b");
  fixture_.start();
  fixture_.advance(Duration::seconds(16));
  for (const char* name : {"a", "b"}) EXPECT_EQ(said("ScalingActive", name), "False AmbiguousSelector");
  EXPECT_TRUE(std::ranges::count(
      events(), "AmbiguousSelector: pods by selector app=web are controlled by multiple HPAs: [d/a d/b]"));
  fixture_.api.remove(kScalers, "d", "b");
  fixture_.advance(Duration::seconds(16));
  EXPECT_EQ(said("ScalingActive", "a"), "True ValidMetricFound");
}

}  // namespace
}  // namespace berth::controllers
