#include <gtest/gtest.h>

#include <algorithm>

#include "controllers/controllers.h"
#include "controllers/simulated.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;

struct SimulatedInit : ::testing::Test {
  engine::testing::EngineFixture fixture;

  void begin(const std::string& spec) {
    fixture.engine.add(make_simulated_pods({}));
    fixture.api.put(api::ref_of(Kind::Node), simulated_node_object(1));
    fixture.start();
    fixture.run_until_idle();
    fixture.api.put(Kind::Pod,
                    R"({"metadata":{"namespace":"d","name":"p","uid":"u1"},"spec":{"nodeName":"node-1",)" +
                        spec + R"(},"status":{"phase":"Pending"}})");
    fixture.run_until_idle();
  }
  const Json& status() { return *fixture.api.find(Kind::Pod, "d", "p")->find("status"); }
  // "NAME STATE" of the init containers, then of the others: "ready" of those that are.
  std::string containers() {
    std::string text(status().string_at("phase"));
    for (const char* list : {"initContainerStatuses", "containerStatuses"})
      for (const Json& container : status().items_at(list))
        text += ", " + std::string(container.string_at("name")) + " " + state_of(container) +
                (container.bool_at("ready") ? " ready" : "");
    return text;
  }
  static std::string state_of(const Json& container) {
    const Json& state = container.part("state");
    if (state.find("running"))
      return "runs since " + std::string(state.part("running").string_at("startedAt"));
    if (const Json* ended = state.find("terminated"))
      return "ended " + std::to_string(ended->int_at("exitCode"));
    return std::string(state.part("waiting").string_at("reason"));
  }
  std::string condition(std::string_view type) {
    for (const Json& each : status().items_at("conditions"))
      if (each.string_at("type") == type)
        return std::string(each.string_at("status")) + " " + std::string(each.string_at("reason")) + ": " +
               std::string(each.string_at("message"));
    return "";
  }
  // The parts of the pod that events with this reason are about, in the order of their names.
  std::vector<std::string> parts(std::string_view reason) const {
    std::vector<std::string> all;
    for (const Json* event : fixture.api.all({"", "v1", "events"}))
      if (event->string_at("reason") == reason)
        all.emplace_back(event->part("involvedObject").string_at("fieldPath"));
    std::sort(all.begin(), all.end());
    return all;
  }
};

constexpr const char* kMain = R"(,"containers":[{"name":"c","image":"app:1"}])";

TEST_F(SimulatedInit, OneRunsAfterTheOther) {
  begin(std::string(R"("initContainers":[{"name":"a","image":"i:1","command":["sleep","5"]},
      {"name":"s","image":"i:1","restartPolicy":"Always"},
      {"name":"b","image":"i:1","command":["sh","-c","sleep 3; exit 0"]}])") +
        kMain);
  EXPECT_EQ(containers(),
            "Pending, a runs since 2027-01-15T08:00:00Z, s PodInitializing, b PodInitializing, "
            "c PodInitializing");
  EXPECT_EQ(condition("PodReadyToStartContainers"), "True : ");
  EXPECT_EQ(condition("Initialized"),
            "False ContainersNotInitialized: containers with incomplete status: [a s b]");
  EXPECT_EQ(condition("Ready"), "False ContainersNotReady: containers with unready status: [c]");
  EXPECT_EQ(status().string_at("podIP"), simulated_pod_ip("u1"));
  EXPECT_EQ(parts("Started"), (std::vector<std::string>{"spec.initContainers{a}"}));
  fixture.advance(Duration::seconds(5));
  EXPECT_EQ(containers(),
            "Pending, a ended 0 ready, s runs since 2027-01-15T08:00:05Z ready, "
            "b runs since 2027-01-15T08:00:05Z, c PodInitializing");
  EXPECT_EQ(condition("Initialized"),
            "False ContainersNotInitialized: containers with incomplete status: [b]");
  fixture.advance(Duration::seconds(3));
  EXPECT_EQ(containers(),
            "Running, a ended 0 ready, s runs since 2027-01-15T08:00:05Z ready, b ended 0 ready, "
            "c runs since 2027-01-15T08:00:08Z ready");
  EXPECT_EQ(condition("Initialized"), "True : ");
  EXPECT_EQ(condition("Ready"), "True : ");
  EXPECT_EQ(status().string_at("startTime"), "2027-01-15T08:00:00Z");
  const Json& ended = status().items_at("initContainerStatuses").at(0).part("state").part("terminated");
  EXPECT_EQ(ended.string_at("startedAt"), "2027-01-15T08:00:00Z");
  EXPECT_EQ(ended.string_at("finishedAt"), "2027-01-15T08:00:05Z");
  EXPECT_EQ(parts("Started"), (std::vector<std::string>{"spec.containers{c}", "spec.initContainers{a}",
                                                        "spec.initContainers{b}", "spec.initContainers{s}"}));
}

TEST_F(SimulatedInit, AFailureEndsAPodThatNeverRestarts) {
  begin(
      std::string(R"("restartPolicy":"Never","initContainers":[{"name":"a","image":"i:1","command":["true"]},
      {"name":"s","image":"i:1","restartPolicy":"Always"},
      {"name":"b","image":"i:1","command":["sh","-c","sleep 2; exit 4"]}])") +
      kMain);
  fixture.advance(Duration::seconds(2));
  EXPECT_EQ(containers(), "Failed, a ended 0 ready, s ended 137, b ended 4, c PodInitializing");
  EXPECT_EQ(condition("Initialized"),
            "False ContainersNotInitialized: containers with incomplete status: [s b]");
  EXPECT_EQ(condition("Ready"), "False PodFailed: ");
  const Json& ended = status().items_at("initContainerStatuses").at(2).part("state").part("terminated");
  EXPECT_EQ(ended.string_at("reason"), "Error");
  EXPECT_EQ(parts("Started").size(), 3u) << "the pod's container has never started";
}

TEST_F(SimulatedInit, AFailureAtOnceEndsThePod) {
  begin(std::string(R"("restartPolicy":"Never","initContainers":[{"name":"a","image":"i:1",
      "command":["false"]}])") +
        kMain);
  EXPECT_EQ(containers(), "Failed, a ended 1, c PodInitializing");
  EXPECT_EQ(status().string_at("startTime"), "2027-01-15T08:00:00Z");
  EXPECT_EQ(status().string_at("podIP"), simulated_pod_ip("u1"));
}

// The first restart is at once; the waits before further ones double.
TEST_F(SimulatedInit, AFailureRestartsWithABackOff) {
  begin(std::string(R"("restartPolicy":"Always","initContainers":[
      {"name":"a","image":"i:1","command":["sh","-c","sleep 5; exit 3"]},{"name":"b","image":"i:1"}])") +
        kMain);
  const auto first = [&] {
    const Json& container = status().items_at("initContainerStatuses").at(0);
    return std::to_string(container.int_at("restartCount")) + " " + state_of(container);
  };
  EXPECT_EQ(first(), "0 runs since 2027-01-15T08:00:00Z");
  fixture.advance(Duration::seconds(5));
  EXPECT_EQ(first(), "1 runs since 2027-01-15T08:00:05Z");
  const Json last = status().items_at("initContainerStatuses").at(0).part("lastState").part("terminated");
  EXPECT_EQ(last.int_at("exitCode"), 3);
  EXPECT_EQ(last.string_at("startedAt"), "2027-01-15T08:00:00Z");
  fixture.advance(Duration::seconds(5));
  EXPECT_EQ(first(), "1 CrashLoopBackOff");
  EXPECT_EQ(containers(), "Pending, a CrashLoopBackOff, b PodInitializing, c PodInitializing");
  EXPECT_EQ(
      status().items_at("initContainerStatuses").at(0).part("state").part("waiting").string_at("message"),
      "back-off 10s restarting failed container=a pod=p_d(u1)");
  EXPECT_EQ(parts("BackOff"), (std::vector<std::string>{"spec.initContainers{a}"}));
  fixture.advance(Duration::seconds(9));
  EXPECT_EQ(first(), "1 CrashLoopBackOff");
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(first(), "2 runs since 2027-01-15T08:00:20Z");
  fixture.advance(Duration::seconds(5));
  EXPECT_EQ(first(), "2 CrashLoopBackOff");
  fixture.advance(Duration::seconds(19));
  EXPECT_EQ(first(), "2 CrashLoopBackOff");
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(first(), "3 runs since 2027-01-15T08:00:45Z");
}

TEST_F(SimulatedInit, ADeadlineCountsTheirTime) {
  begin(std::string(R"("activeDeadlineSeconds":7,"restartPolicy":"Never","initContainers":[
      {"name":"a","image":"i:1","command":["sleep","60"]}])") +
        kMain);
  fixture.advance(Duration::seconds(6));
  EXPECT_EQ(status().string_at("phase"), "Pending");
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(containers(), "Failed, a ended 137, c PodInitializing");
  EXPECT_EQ(status().string_at("reason"), "DeadlineExceeded");
}

TEST_F(SimulatedInit, TheEndOfThePodLeavesWhatTheyReported) {
  begin(R"("restartPolicy":"Never","initContainers":[{"name":"a","image":"i:1","command":["sleep","5"]}],
      "containers":[{"name":"c","image":"app:1","command":["sleep","10"]}])");
  fixture.advance(Duration::seconds(5));
  fixture.advance(Duration::seconds(10));
  EXPECT_EQ(containers(), "Succeeded, a ended 0 ready, c ended 0");
  const Json& ended = status().items_at("initContainerStatuses").at(0).part("state").part("terminated");
  EXPECT_EQ(ended.string_at("finishedAt"), "2027-01-15T08:00:05Z");
  EXPECT_EQ(condition("Initialized"), "True PodCompleted: ");
}

}  // namespace
}  // namespace berth::controllers
