#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "api/types/gpu_share.h"
#include "controllers/controllers.h"
#include "controllers/simulated.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using engine::testing::EngineFixture;

struct SimulatedPods : ::testing::Test {
  EngineFixture fixture;
  bool may_start = true;
  SimulatedDurations durations;
  void begin(const std::string& annotations = "{}") {
    fixture.engine.add(
        make_simulated_pods([this](const auto&, const auto&) { return may_start; }, durations));
    fixture.api.put(api::ref_of(Kind::Node), simulated_node_object(1));
    fixture.api.put(
        Kind::Pod,
        R"({"metadata":{"namespace":"d","name":"p","uid":"u1","annotations":)" + annotations +
            R"(},"spec":{"nodeName":"node-1","initContainers":[{"name":"i","image":"init:1"},)"
            R"({"name":"s","image":"side:1","restartPolicy":"Always"}],)"
            R"("containers":[{"name":"c","image":"app:1"}]},"status":{"phase":"Pending","conditions":)"
            R"([{"type":"PodScheduled","status":"True"}]}})");
    fixture.start();
    fixture.run_until_idle();
  }
  const Json& status() { return *fixture.api.find(Kind::Pod, "d", "p")->find("status"); }
  // Writes that are no events.
  std::size_t writes() const {
    return static_cast<std::size_t>(
        std::count_if(fixture.api.log.begin(), fixture.api.log.end(),
                      [](const std::string& line) { return line.find("events") == std::string::npos; }));
  }
  // The parts of their objects that events with this reason are about.
  std::vector<std::string> parts_told(std::string_view reason) const {
    std::vector<std::string> parts;
    for (const Json* event : fixture.api.all({"", "v1", "events"}))
      if (event->string_at("reason") == reason)
        parts.emplace_back(event->part("involvedObject").string_at("fieldPath"));
    std::sort(parts.begin(), parts.end());
    return parts;
  }
  // "Reason: message xCOUNT" of each event, in the order of their first occurrence.
  std::vector<std::string> events() const {
    std::vector<std::string> texts;
    for (const Json* event : fixture.api.all({"", "v1", "events"}))
      texts.push_back(std::string(event->string_at("reason")) + ": " +
                      std::string(event->string_at("message")) + " x" +
                      std::to_string(event->int_at("count")));
    return texts;
  }
  void put_pod(const std::string& spec, const std::string& conditions = "[]") {
    fixture.api.put(Kind::Pod,
                    R"({"metadata":{"namespace":"d","name":"q","uid":"u2"},"spec":{"nodeName":"node-1",)" +
                        spec + R"(},"status":{"phase":"Pending","conditions":)" + conditions + "}}");
    fixture.run_until_idle();
  }
  const Json& status_of_q() { return *fixture.api.find(Kind::Pod, "d", "q")->find("status"); }
  std::string conditions() {
    std::string text;
    for (const Json& condition : status().items_at("conditions"))
      text +=
          std::string(condition.string_at("type")) + "=" + std::string(condition.string_at("status")) + " ";
    return text;
  }
};

TEST_F(SimulatedPods, ABoundPodRuns) {
  begin();
  EXPECT_EQ(status().string_at("phase"), "Running");
  EXPECT_EQ(
      conditions(),
      "PodScheduled=True PodReadyToStartContainers=True Initialized=True Ready=True ContainersReady=True ");
  EXPECT_EQ(status().string_at("podIP"), simulated_pod_ip("u1"));
  EXPECT_EQ(status().string_at("hostIP"), simulated_host_ip("node-1"));
  EXPECT_EQ(status().string_at("startTime"), "2027-01-15T08:00:00Z");
  const Json& container = status().items_at("containerStatuses").at(0);
  EXPECT_TRUE(container.bool_at("ready") && container.bool_at("started"));
  EXPECT_EQ(container.string_at("containerID").size(), 13u + 64u);
  EXPECT_EQ(to_string(*container.find("state")), R"({"running":{"startedAt":"2027-01-15T08:00:00Z"}})");
  const JsonArray& init = status().items_at("initContainerStatuses");
  ASSERT_EQ(init.size(), 2u);
  EXPECT_NE(init[0].find_path({"state", "terminated"}), nullptr);
  EXPECT_NE(init[1].find_path({"state", "running"}), nullptr);
  fixture.advance(Duration::minutes(60));
  EXPECT_EQ(writes(), 1u);
}

TEST_F(SimulatedPods, AReservationPodGetsAGpuOfItsOwn) {
  begin();
  const auto device_of = [&](const std::string& group) {
    const std::string name = api::gpu_reservation_name("node-1", group);
    fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"kube-system","name":")" + name + R"(","uid":")" +
                                   group + R"(","annotations":{"scheduling.berth.dev/gpu-group":")" + group +
                                   R"("}},"spec":{"nodeName":"node-1","containers":[{"name":"c"}]}})");
    fixture.run_until_idle();
    const Json& status = *fixture.api.find(Kind::Pod, "kube-system", name)->find("status");
    const Json& given = status.items_at("containerStatuses").at(0).items_at("allocatedResourcesStatus").at(0);
    EXPECT_EQ(given.string_at("name"), "nvidia.com/gpu");
    return std::string(given.items_at("resources").at(0).string_at("resourceID"));
  };
  const std::string first = device_of("gpu-0"), second = device_of("gpu-1");
  EXPECT_FALSE(first.empty());
  EXPECT_NE(first, second);
  EXPECT_EQ(status().items_at("containerStatuses").at(0).find("allocatedResourcesStatus"), nullptr);
}

TEST_F(SimulatedPods, APodWithARunTimeSucceedsAfterIt) {
  begin(R"({"berth.dev/run-time":"30s"})");
  fixture.advance(Duration::seconds(29));
  EXPECT_EQ(status().string_at("phase"), "Running");
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(status().string_at("phase"), "Succeeded");
  EXPECT_EQ(conditions(),
            "PodScheduled=True PodReadyToStartContainers=False Initialized=True Ready=False "
            "ContainersReady=False ");
  const Json* ended = status().items_at("containerStatuses").at(0).find_path({"state", "terminated"});
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->int_at("exitCode", -1), 0);
  EXPECT_EQ(ended->string_at("finishedAt"), "2027-01-15T08:00:30Z");
}

TEST_F(SimulatedPods, TheDeviceHealthThatAContainerEndedWithStays) {
  begin(R"({"berth.dev/run-time":"30s"})");
  Json statuses = status().items_at("containerStatuses");
  statuses.as_array().at(0)["allocatedResourcesStatus"] =
      Json::array({Json::object({{"name", "claim:g"}, {"resources", JsonArray()}})});
  const Json patch = Json::object({{"status", Json::object({{"containerStatuses", statuses}})}});
  fixture.api.change(Kind::Pod, "d", "p", to_string(patch));
  fixture.advance(Duration::seconds(31));
  ASSERT_EQ(status().string_at("phase"), "Succeeded");
  EXPECT_EQ(status().items_at("containerStatuses").at(0).items_at("allocatedResourcesStatus").size(), 1u);
}

TEST_F(SimulatedPods, ContainersAreCreatedUntilTheyMayStart) {
  may_start = false;
  begin();
  EXPECT_EQ(status().string_at("phase"), "Pending");
  EXPECT_EQ(conditions(),
            "PodScheduled=True PodReadyToStartContainers=False Initialized=False Ready=False "
            "ContainersReady=False ");
  const Json* state = status().items_at("containerStatuses").at(0).find("state");
  EXPECT_EQ(to_string(*state), R"({"waiting":{"reason":"PodInitializing"}})");
  EXPECT_EQ(status().items_at("initContainerStatuses").size(), 2u);
  Json statuses = status().items_at("containerStatuses");
  statuses.as_array().at(0)["allocatedResourcesStatus"] =
      Json::array({Json::object({{"name", "claim:g"}, {"resources", JsonArray()}})});
  const Json patch = Json::object({{"status", Json::object({{"containerStatuses", statuses}})}});
  fixture.api.change(Kind::Pod, "d", "p", to_string(patch));
  fixture.advance(Duration::seconds(5));
  EXPECT_EQ(writes(), 1u) << "created once";
  may_start = true;
  fixture.engine.wake(kSimulatedPodsName, {Kind::Node, "", "node-1", {}});
  fixture.run_until_idle();
  EXPECT_EQ(status().string_at("phase"), "Running");
  EXPECT_EQ(status().string_at("startTime"), "2027-01-15T08:00:00Z");
  EXPECT_EQ(status().items_at("containerStatuses").at(0).items_at("allocatedResourcesStatus").size(), 1u);
}

TEST(SimulatedPodsTable, AStatusStandsOnTheVersionThatWasSeen) {
  client::View view;
  engine::testing::put(view, Kind::Node,
                       R"({"metadata":{"name":"sim","labels":{"berth.dev/simulated":"true"}}})");
  engine::testing::put(view, Kind::Pod,
                       R"({"metadata":{"namespace":"d","name":"p","uid":"u1","resourceVersion":"77"},)"
                       R"("spec":{"nodeName":"sim","containers":[{"name":"c","image":"app:1"}]}})");
  const auto pods = make_simulated_pods({});
  const client::Effects effects = pods->reconcile(view, {Kind::Pod, "d", "p"}, Time::from_seconds(1));
  ASSERT_EQ(effects.chains.size(), 1u);
  const std::string& body = effects.chains.front().writes.front().request.body;
  EXPECT_NE(body.find(R"("resourceVersion":"77")"), std::string::npos)
      << "a late copy makes no pod run that has ended: " << body;
}

TEST(SimulatedPodsTable, OthersAreLeftAlone) {
  constexpr const char* kDeleting =
      R"({"metadata":{"namespace":"d","name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"},)"
      R"("spec":{"nodeName":"sim"}})";
  const char* pods[] = {
      R"({"metadata":{"namespace":"d","name":"p"},"spec":{"nodeName":"real"}})",
      R"({"metadata":{"namespace":"d","name":"p"},"spec":{"nodeName":"absent"}})",
      R"({"metadata":{"namespace":"d","name":"p"},"spec":{}})",
      R"({"metadata":{"namespace":"d","name":"p"},"spec":{"nodeName":"sim"},"status":{"phase":"Failed"}})",
      kDeleting,
  };
  for (const char* pod : pods) {
    client::View view;
    engine::testing::put(view, Kind::Node, R"({"metadata":{"name":"real"}})");
    engine::testing::put(view, Kind::Node,
                         R"({"metadata":{"name":"sim","labels":{"berth.dev/simulated":"true"}}})");
    engine::testing::put(view, Kind::Pod, pod);
    EXPECT_EQ(engine::testing::run(*make_simulated_pods({}), view, {Kind::Pod, "d", "p", {}},
                                   Time::from_seconds(1)),
              "")
        << pod;
  }
}

constexpr const char* kDeleted =
    R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":30}})";

TEST_F(SimulatedPods, ADeletedPodGoesInOneWrite) {
  begin();
  const std::size_t before = writes();
  fixture.api.change(Kind::Pod, "d", "p", kDeleted);
  fixture.run_until_idle();
  EXPECT_EQ(fixture.api.find(Kind::Pod, "d", "p"), nullptr);
  EXPECT_EQ(writes(), before + 1);
}

TEST_F(SimulatedPods, ADeletedPodTakesItsTimeToEnd) {
  durations.termination = Duration::seconds(5);
  begin();
  put_pod(R"("containers":[{"name":"c","image":"app:1"}])");
  const auto ends_after = [&](const char* name, int grace, int seconds) {
    const Time end = fixture.clock.now() + Duration::seconds(grace);
    Json deleted =
        Json::object({{"deletionTimestamp", format_time(end)}, {"deletionGracePeriodSeconds", grace}});
    fixture.api.change(Kind::Pod, "d", name, to_string(Json::object({{"metadata", std::move(deleted)}})));
    fixture.run_until_idle();
    fixture.advance(Duration::seconds(seconds - 1));
    EXPECT_NE(fixture.api.find(Kind::Pod, "d", name), nullptr) << grace;
    fixture.advance(Duration::seconds(1));
    EXPECT_EQ(fixture.api.find(Kind::Pod, "d", name), nullptr) << grace;
  };
  ends_after("p", 30, 5);
  ends_after("q", 2, 2);
  fixture.api.put(Kind::Pod,
                  R"({"metadata":{"namespace":"d","name":"h","uid":"u3"},"spec":{"nodeName":"node-1",
      "containers":[{"name":"c","image":"app:1","lifecycle":{"preStop":{"sleep":{"seconds":9}}}}]}})");
  fixture.run_until_idle();
  ends_after("h", 30, 14);
}

// What a Job with podReplacementPolicy Failed waits for.
TEST_F(SimulatedPods, ADeletedPodThatAFinalizerHoldsHasFailed) {
  for (const bool runs : {true, false}) {
    may_start = runs;
    if (runs) begin();
    fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"held","finalizers":["example.com/h"]},
      "spec":{"nodeName":"node-1","containers":[{"name":"c","image":"app:1"}]}})");
    fixture.run_until_idle();
    fixture.api.change(Kind::Pod, "d", "held", kDeleted);
    fixture.run_until_idle();
    const std::size_t before = writes();
    const Json* pod = fixture.api.find(Kind::Pod, "d", "held");
    ASSERT_NE(pod, nullptr);
    EXPECT_EQ(pod->part("status").string_at("phase"), "Failed");
    EXPECT_EQ(pod->part("metadata").int_at("deletionGracePeriodSeconds"), 0);
    const Json& state = pod->part("status").items_at("containerStatuses").front().part("state");
    EXPECT_EQ(state.part("terminated").int_at("exitCode"), 137);
    fixture.advance(Duration::minutes(1));
    EXPECT_EQ(writes(), before);
    fixture.api.remove(api::ref_of(Kind::Pod), "d", "held");
    fixture.run_until_idle();
  }
}

TEST_F(SimulatedPods, ADeletedPodThatHadEndedKeepsItsPhase) {
  begin(R"({"berth.dev/run-time":"10s"})");
  fixture.advance(Duration::seconds(11));
  fixture.api.change(Kind::Pod, "d", "p", R"({"metadata":{"finalizers":["example.com/h"]}})");
  fixture.api.change(Kind::Pod, "d", "p", kDeleted);
  fixture.run_until_idle();
  EXPECT_EQ(status().string_at("phase"), "Succeeded");
}

TEST_F(SimulatedPods, ADeadlineEndsThePodAlsoWhenItComesLater) {
  begin(R"({"berth.dev/run-time":"1h"})");
  fixture.advance(Duration::seconds(10));
  fixture.api.change(Kind::Pod, "d", "p", R"({"spec":{"activeDeadlineSeconds":15}})");
  fixture.advance(Duration::seconds(4));
  EXPECT_EQ(status().string_at("phase"), "Running");
  fixture.advance(Duration::seconds(2));
  EXPECT_EQ(status().string_at("phase"), "Failed");
  EXPECT_EQ(status().string_at("reason"), "DeadlineExceeded");
}

TEST_F(SimulatedPods, AnImageThatCannotBePulledIsToldAndAnotherOneStarts) {
  fixture.api.put(Kind::Pod,
                  R"({"metadata":{"namespace":"d","name":"q","uid":"u2"},"spec":{"nodeName":"node-1",
      "containers":[{"name":"c","image":"app:missing"}]},"status":{"phase":"Pending"}})");
  begin();
  const auto state = [&] {
    return to_string(fixture.api.find(Kind::Pod, "d", "q")
                         ->part("status")
                         .items_at("containerStatuses")
                         .at(0)
                         .part("state"));
  };
  EXPECT_EQ(
      state(),
      R"({"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \"app:missing\""}})");
  EXPECT_EQ(fixture.api.find(Kind::Pod, "d", "q")->part("status").string_at("phase"), "Pending");
  fixture.api.change(Kind::Pod, "d", "q", R"({"spec":{"containers":[{"name":"c","image":"app:1"}]}})");
  fixture.run_until_idle();
  EXPECT_NE(state().find("running"), std::string::npos) << state();
}

TEST_F(SimulatedPods, AnInitContainerWithoutItsImageHoldsThePodPending) {
  begin();
  put_pod(R"("initContainers":[{"name":"i","image":"init:missing"}],)"
          R"("containers":[{"name":"c","image":"app:1"}])");
  EXPECT_EQ(status_of_q().string_at("phase"), "Pending");
  const Json& init = status_of_q().items_at("initContainerStatuses").at(0);
  EXPECT_EQ(init.part("state").part("waiting").string_at("reason"), "ImagePullBackOff");
}

TEST_F(SimulatedPods, AnEphemeralContainerRunsFromWhenItIsAddedToTheEndOfItsPod) {
  begin();
  put_pod(R"("restartPolicy":"Never","containers":[{"name":"c","image":"app:1","command":["sleep","60"]}])");
  const auto add = [&](const std::string& containers) {
    fixture.api.change(Kind::Pod, "d", "q", R"({"spec":{"ephemeralContainers":[)" + containers + "]}}");
    fixture.run_until_idle();
  };
  const auto state = [&](std::size_t i) {
    return to_string(status_of_q().items_at("ephemeralContainerStatuses").at(i).part("state"));
  };
  const std::string first = R"({"name":"shell","image":"box:1"})", running = R"({"running":{"startedAt":)";
  fixture.advance(Duration::seconds(10));
  add(first);
  EXPECT_EQ(state(0), running + R"("2027-01-15T08:00:10Z"}})");
  fixture.advance(Duration::seconds(10));
  add(first + R"(,{"name":"more","image":"box:missing"})");
  EXPECT_EQ(state(0), running + R"("2027-01-15T08:00:10Z"}})");
  EXPECT_NE(state(1).find("ImagePullBackOff"), std::string::npos) << state(1);
  const std::size_t before = writes();
  fixture.advance(Duration::seconds(39));
  EXPECT_EQ(writes(), before);
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(status_of_q().string_at("phase"), "Succeeded");
  EXPECT_NE(state(0).find(R"("terminated":{"exitCode":137)"), std::string::npos) << state(0);
  const auto told = events();
  EXPECT_NE(std::find(told.begin(), told.end(), "BackOff: Back-off pulling image \"box:missing\" x1"),
            told.end());
}

TEST_F(SimulatedPods, APodThatIsLargerThanItsNodeIsRejected) {
  begin();
  put_pod(R"("containers":[{"name":"c","image":"app:1","resources":{"requests":{"cpu":"1000000"}}}])");
  EXPECT_EQ(status_of_q().string_at("phase"), "Failed");
  EXPECT_EQ(status_of_q().string_at("reason"), "OutOfcpu");
  EXPECT_EQ(
      status_of_q().string_at("message").find("Pod was rejected: Node didn't have enough resource: cpu, "
                                              "requested: 1000000000, used: 0, capacity: "),
      0u)
      << status_of_q().string_at("message");
}

// The first restart is at once; the waits before further ones double.
TEST_F(SimulatedPods, ContainersThatFailRestartWithABackOff) {
  begin();
  put_pod(R"("restartPolicy":"Always","containers":[{"name":"c","image":"app:1",)"
          R"("command":["sh","-c","sleep 5; exit 3"]}])");
  const auto said = [&] {
    const Json& container = status_of_q().items_at("containerStatuses").at(0);
    return std::to_string(container.int_at("restartCount")) + " " + to_string(container.part("state"));
  };
  const auto waits = [](const char* restarts, const char* delay) {
    return std::string(restarts) + R"( {"waiting":{"reason":"CrashLoopBackOff","message":"back-off )" +
           delay + R"t( restarting failed container=c pod=q_d(u2)"}})t";
  };
  EXPECT_EQ(said(), R"(0 {"running":{"startedAt":"2027-01-15T08:00:00Z"}})");
  fixture.advance(Duration::seconds(5));
  EXPECT_EQ(said(), R"(1 {"running":{"startedAt":"2027-01-15T08:00:05Z"}})");
  const Json last = status_of_q().items_at("containerStatuses").at(0).part("lastState").part("terminated");
  EXPECT_EQ(last.int_at("exitCode"), 3);
  EXPECT_EQ(last.string_at("startedAt"), "2027-01-15T08:00:00Z");
  fixture.advance(Duration::seconds(5));
  EXPECT_EQ(said(), waits("1", "10s"));
  EXPECT_EQ(status_of_q().string_at("phase"), "Running");
  fixture.advance(Duration::seconds(9));
  EXPECT_EQ(said(), waits("1", "10s"));
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(said(), R"(2 {"running":{"startedAt":"2027-01-15T08:00:20Z"}})");
  for (const auto& [restarts, delay, seconds] : {std::tuple("2", "20s", 20),
                                                 {"3", "40s", 40},
                                                 {"4", "1m20s", 80},
                                                 {"5", "2m40s", 160},
                                                 {"6", "5m0s", 300},
                                                 {"7", "5m0s", 300}}) {
    fixture.advance(Duration::seconds(5));
    EXPECT_EQ(said(), waits(restarts, delay));
    fixture.advance(Duration::seconds(seconds));
  }
  const std::vector<std::string> told = events();
  EXPECT_TRUE(std::any_of(told.begin(), told.end(), [](const std::string& text) {
    return text.starts_with("BackOff: Back-off restarting failed container c in pod q_d(u2) x");
  }));
}

TEST_F(SimulatedPods, OnFailureRestartsUntilTheContainersSucceed) {
  begin();
  put_pod(R"("restartPolicy":"OnFailure","containers":[{"name":"c","image":"app:1","command":["true"]}])");
  EXPECT_EQ(status_of_q().string_at("phase"), "Succeeded");
  put_pod(R"("restartPolicy":"OnFailure","containers":[{"name":"c","image":"app:1","command":["false"]}])");
  EXPECT_EQ(status_of_q().string_at("phase"), "Running");
  EXPECT_EQ(status_of_q().items_at("containerStatuses").at(0).int_at("restartCount"), 1);
}

TEST_F(SimulatedPods, AReadinessGateHoldsThePodUnready) {
  begin();
  put_pod(R"("readinessGates":[{"conditionType":"example.com/a"},{"conditionType":"example.com/b"}],)"
          R"("containers":[{"name":"c","image":"app:1"}])",
          R"([{"type":"example.com/a","status":"False"}])");
  const auto ready = [&] {
    for (const Json& condition : status_of_q().items_at("conditions"))
      if (condition.string_at("type") == "Ready")
        return std::string(condition.string_at("status")) + " " + std::string(condition.string_at("reason")) +
               ": " + std::string(condition.string_at("message"));
    return std::string();
  };
  EXPECT_EQ(
      ready(),
      R"(False ReadinessGatesNotReady: the status of pod readiness gate "example.com/a" is not "True", but )"
      R"(False, corresponding condition of pod readiness gate "example.com/b" does not exist.)");
  EXPECT_TRUE(status_of_q().items_at("containerStatuses").at(0).bool_at("ready"));
  fixture.api.change(Kind::Pod, "d", "q",
                     R"({"status":{"conditions":[{"type":"example.com/a","status":"True"},
      {"type":"example.com/b","status":"True"},{"type":"Ready","status":"False"},
      {"type":"ContainersReady","status":"True","lastTransitionTime":"2027-01-15T08:00:00Z"}]}})");
  fixture.run_until_idle();
  EXPECT_EQ(ready(), "True : ");
}

TEST_F(SimulatedPods, AReadinessProbeSucceedsAfterItsInitialDelay) {
  begin();
  put_pod(R"("restartPolicy":"Never","containers":[{"name":"c","image":"app:1","command":["sleep","25"],)"
          R"("readinessProbe":{"exec":{"command":["ls"]},"initialDelaySeconds":10}}])");
  const auto seen = [&] {
    std::string text(status_of_q().string_at("phase"));
    for (const Json& condition : status_of_q().items_at("conditions"))
      if (condition.string_at("type").ends_with("Ready"))
        text +=
            " " + std::string(condition.string_at("type")) + "=" + std::string(condition.string_at("status"));
    return text + (status_of_q().items_at("containerStatuses").at(0).bool_at("ready") ? " ready" : "");
  };
  EXPECT_EQ(seen(), "Running Ready=False ContainersReady=False");
  fixture.advance(Duration::seconds(9));
  EXPECT_EQ(seen(), "Running Ready=False ContainersReady=False");
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(seen(), "Running Ready=True ContainersReady=True ready");
  fixture.advance(Duration::seconds(14));
  EXPECT_EQ(seen(), "Running Ready=True ContainersReady=True ready");
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(status_of_q().string_at("phase"), "Succeeded");
}

TEST_F(SimulatedPods, TellWhatAKubeletTells) {
  begin();
  const auto told = events();
  const std::string pulled = "\" already present on machine and can be accessed by the pod x1";
  for (const std::string& text :
       {std::string("Created: Container created x1"), std::string("Started: Container started x1"),
        "Pulled: Container image \"app:1" + pulled, "Pulled: Container image \"init:1" + pulled})
    EXPECT_NE(std::find(told.begin(), told.end(), text), told.end()) << text;
  for (const char* reason : {"Pulled", "Created", "Started"})
    EXPECT_EQ(parts_told(reason), (std::vector<std::string>{"spec.containers{c}", "spec.initContainers{i}",
                                                            "spec.initContainers{s}"}));
  fixture.api.change(Kind::Pod, "d", "p", kDeleted);
  fixture.run_until_idle();
  const auto after = events();
  EXPECT_NE(std::find(after.begin(), after.end(), "Killing: Stopping container c x1"), after.end());
}

TEST_F(SimulatedPods, SayWhichSpecTheySaw) {
  begin();
  fixture.api.change(Kind::Pod, "d", "p", R"({"metadata":{"generation":1},"status":{"phase":"Pending"}})");
  fixture.run_until_idle();
  EXPECT_EQ(status().int_at("observedGeneration"), 1);
  const std::size_t before = writes();
  // As the server orders the members.
  fixture.api.change(Kind::Pod, "d", "p", R"({"metadata":{"generation":2},"status":null})");
  fixture.api.change(
      Kind::Pod, "d", "p",
      R"({"status":{"observedGeneration":1,"phase":"Running","conditions":[{"type":"Ready","status":"True",
          "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
  fixture.run_until_idle();
  EXPECT_EQ(status().int_at("observedGeneration"), 2);
  for (const Json& condition : status().items_at("conditions"))
    EXPECT_EQ(condition.int_at("observedGeneration"), 2) << condition.string_at("type");
  EXPECT_EQ(writes(), before + 1);
}

}  // namespace
}  // namespace berth::controllers
