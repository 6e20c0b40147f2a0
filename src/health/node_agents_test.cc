#include "health/node_agents.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "health/health_driver.h"

namespace berth::health {
namespace {

constexpr std::chrono::seconds kWaitMax(20);

bool eventually(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + kWaitMax;
  while (std::chrono::steady_clock::now() < limit) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

DeviceReport reported(const char* device, Health health, std::int64_t timeout_s = 60,
                      std::string message = "") {
  return {{"node-1", device}, {health, std::move(message)}, timeout_s};
}

// Two nodes with running agents, and everything that readers of gpu-1's health saw.
struct Agents : ::testing::Test {
  void SetUp() override {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base && *base ? base : "/tmp") + "/hXXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
    feed.on_change([this](const std::string& node) {
      const auto snapshot = feed.latest(node);
      if (!snapshot) return;  // the node is served from now on
      const std::string now = shown(*snapshot);
      const std::lock_guard lock(mutex);
      if (history.empty() || history.back() != now) history.push_back(now);
    });
    start({"node-1", "node-2"});
  }
  void TearDown() override {
    agents.reset();
    std::filesystem::remove_all(root);
  }
  void start(std::vector<std::string> nodes, std::string boot_id = "this-boot") {
    auto started = NodeAgents::start(
        {root + "/nodes", std::move(nodes), {}, NodeRole::OwnsNodes, "", std::move(boot_id)}, feed, clock);
    ASSERT_TRUE(started.ok()) << started.error().text();
    agents = std::move(*started);
  }
  static std::string shown(const HealthSnapshot& snapshot) {
    const DeviceHealth health = snapshot.of("gpu.example.com", {"node-1", "gpu-1"});
    return std::string(name_of(health.health)) + (health.message.empty() ? "" : ": " + health.message);
  }
  std::string shown() {
    const auto snapshot = feed.latest("node-1");
    return snapshot ? shown(*snapshot) : "nothing";
  }
  bool shows(const std::string& text) {
    return eventually([&] { return shown() == text; });
  }
  std::vector<std::string> seen() {
    const std::lock_guard lock(mutex);
    return history;
  }
  std::string socket(const std::string& name) { return root + "/nodes/node-1/plugins_registry/" + name; }
  std::unique_ptr<HealthDriver> driver(const std::string& name, const Reports& reports,
                                       std::vector<std::string> services = {"v1.DRAPlugin",
                                                                            "v1.DRAResourceHealth"}) {
    HealthDriverOptions options;
    options.socket = socket(name);
    options.services = std::move(services);
    auto served = HealthDriver::serve(options);
    EXPECT_TRUE(served.ok()) << served.error().text();
    if (!reports.empty()) (*served)->report(reports);
    return std::move(*served);
  }

  std::string root;
  SystemClock clock;
  HealthFeed feed;
  std::mutex mutex;
  std::vector<std::string> history;
  std::unique_ptr<NodeAgents> agents;
};

TEST_F(Agents, ADriverRegistersAndItsReportsAreSeen) {
  const auto one = driver("a.sock", {reported("gpu-1", Health::Healthy)});
  EXPECT_TRUE(shows("Healthy")) << shown();
  EXPECT_TRUE(eventually([&] { return one->answers() == std::vector<std::string>{"registered"}; }));
  one->report({reported("gpu-1", Health::Unhealthy, 60, "xid 79")});
  EXPECT_TRUE(shows("Unhealthy: xid 79")) << shown();
  one->report({reported("gpu-1", Health::Healthy)});
  EXPECT_TRUE(shows("Healthy")) << shown();
  EXPECT_EQ(feed.latest("node-2"), nullptr);
}

TEST_F(Agents, ADriverThatWasThereBeforeIsFound) {
  agents.reset();
  const auto one = driver("a.sock", {reported("gpu-1", Health::Healthy)});
  start({"node-1"});
  EXPECT_TRUE(shows("Healthy")) << shown();
}

TEST_F(Agents, TheOlderVersionOfTheServiceIsSpoken) {
  const auto one = driver("a.sock", {reported("gpu-1", Health::Unhealthy)},
                          {"v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth", "v1.DRAResourceHealth"});
  EXPECT_TRUE(shows("Unhealthy")) << shown();
}

TEST_F(Agents, ARestartUnderTheSamePathIsNoFlap) {
  auto one = driver("a.sock", {reported("gpu-1", Health::Healthy)});
  ASSERT_TRUE(shows("Healthy"));
  const auto before = seen();
  one.reset();
  one = driver("a.sock", {reported("gpu-1", Health::Healthy), reported("gpu-2", Health::Healthy)});
  ASSERT_TRUE(eventually([&] { return one->streams() == 1; }));
  one->report({reported("gpu-1", Health::Unhealthy)});
  EXPECT_TRUE(shows("Unhealthy")) << shown();
  auto expected = before;
  expected.push_back("Unhealthy");
  EXPECT_EQ(seen(), expected);
}

TEST_F(Agents, TheNewestInstanceIsHeardAndTheOldOneUntilThen) {
  auto old = driver("old.sock", {reported("gpu-1", Health::Healthy)});
  ASSERT_TRUE(shows("Healthy"));
  const auto fresh = driver("new.sock", {});
  ASSERT_TRUE(eventually([&] { return fresh->streams() == 1; }));
  old->report({reported("gpu-1", Health::Unhealthy, 60, "still heard")});
  ASSERT_TRUE(shows("Unhealthy: still heard"));
  fresh->report({reported("gpu-1", Health::Healthy)});
  ASSERT_TRUE(shows("Healthy"));
  ASSERT_TRUE(eventually([&] { return old->streams() == 0; }));
  old->report({reported("gpu-1", Health::Unhealthy, 60, "too late")});
  old.reset();
  fresh->report({reported("gpu-1", Health::Unhealthy, 60, "last")});
  ASSERT_TRUE(shows("Unhealthy: last"));
  for (const std::string& text : seen()) EXPECT_EQ(text.find("too late"), std::string::npos);
}

TEST_F(Agents, WhenTheNewestInstanceLeavesTheOlderOneIsHeardAgain) {
  const auto old = driver("old.sock", {reported("gpu-1", Health::Healthy)});
  ASSERT_TRUE(shows("Healthy"));
  auto fresh = driver("new.sock", {reported("gpu-1", Health::Unhealthy)});
  ASSERT_TRUE(shows("Unhealthy"));
  fresh.reset();
  EXPECT_TRUE(shows("Healthy")) << shown();
}

TEST_F(Agents, SilencePastTheDeadlineIsUnknownAndTheNextReportRecovers) {
  const auto one = driver("a.sock", {reported("gpu-1", Health::Healthy, 1)});
  ASSERT_TRUE(shows("Healthy"));
  ASSERT_TRUE(shows("Unknown: no health report for more than 1s")) << shown();
  one->report({});
  ASSERT_TRUE(eventually([&] { return seen().size() >= 4; }));
  EXPECT_EQ(seen()[3], "Healthy");
}

// A wall clock that somebody sets; time goes on.
class SteppingClock final : public Clock {
 public:
  Time now() const override { return machine_.now() + Duration::micros(step_micros); }
  Time monotonic() const override { return machine_.monotonic(); }
  std::atomic<std::int64_t> step_micros = 0;

 private:
  SystemClock machine_;
};

TEST_F(Agents, StepsOfTheWallClockNeitherAgeAReportNorKeepItFresh) {
  agents.reset();
  SteppingClock stepping;
  auto started = NodeAgents::start({root + "/nodes", {"node-1"}, {}, NodeRole::OwnsNodes, "", "this-boot"},
                                   feed, stepping);
  ASSERT_TRUE(started.ok());
  agents = std::move(*started);
  const auto one = driver("a.sock", {reported("gpu-1", Health::Healthy, 2)});
  ASSERT_TRUE(shows("Healthy")) << shown();
  stepping.step_micros = Duration::minutes(60).micros();
  one->report({reported("gpu-2", Health::Healthy, 60)});
  ASSERT_TRUE(eventually([&] {
    const auto snapshot = feed.latest("node-1");
    return snapshot && snapshot->of("gpu.example.com", {"node-1", "gpu-2"}).health == Health::Healthy;
  }));
  EXPECT_EQ(shown(), "Healthy") << "an hour forward is not two seconds of silence";
  stepping.step_micros = -Duration::minutes(60).micros();
  EXPECT_TRUE(eventually([&] { return shown().starts_with("Unknown"); })) << "an hour back prolongs nothing";
  agents.reset();
}

TEST_F(Agents, ADriverWithoutHealthServiceSaysSo) {
  const auto one = driver("a.sock", {}, {"v1.DRAPlugin"});
  EXPECT_TRUE(shows("Unknown: driver gpu.example.com offers no health service")) << shown();
}

TEST_F(Agents, AServiceThatIsOfferedButNotServedIsUnsupported) {
  const auto one = driver("a.sock", {}, {"v1.DRAPlugin", "v1alpha1.NodeHealth"});
  EXPECT_TRUE(shows("Unknown: driver gpu.example.com offers no health service")) << shown();
}

TEST_F(Agents, RefusedPluginsGetTheReason) {
  struct Case {
    const char* socket;
    HealthDriverOptions options;
    const char* answer;
  };
  const Case cases[] = {
      {"t.sock",
       {"", "gpu.example.com", "CSIPlugin", {"v1.DRAPlugin"}},
       "plugins of type \"CSIPlugin\" are not handled on this node"},
      {"v.sock",
       {"", "gpu.example.com", "DRAPlugin", {"1.0.0"}},
       "none of the offered services is known; supported_versions names them like v1.DRAPlugin"},
  };
  for (const Case& c : cases) {
    HealthDriverOptions options = c.options;
    options.socket = socket(c.socket);
    const auto served = HealthDriver::serve(options);
    ASSERT_TRUE(served.ok());
    ASSERT_TRUE(eventually([&] { return !(*served)->answers().empty(); }));
    EXPECT_EQ((*served)->answers()[0], c.answer);
  }
  EXPECT_EQ(feed.latest("node-1"), nullptr);
}

TEST_F(Agents, AMessageOfTooManyDevicesIsNotTakenIn) {
  const auto one = driver("a.sock", {reported("gpu-1", Health::Healthy)});
  ASSERT_TRUE(shows("Healthy"));
  Reports flood = {reported("gpu-1", Health::Unhealthy)};
  for (int n = 0; n < 100000; ++n)
    flood.push_back({{"p", "d" + std::to_string(n)}, {Health::Healthy, ""}, 0});
  one->report(flood);
  ASSERT_TRUE(eventually([&] { return one->streams() == 0; }));
  EXPECT_EQ(shown(), "Healthy");
  const auto two = driver("b.sock", {reported("gpu-1", Health::Unhealthy)});
  EXPECT_TRUE(shows("Unhealthy")) << "the agent goes on";
}

TEST_F(Agents, ARestartOfTheAgentIsNoFlap) {
  auto one = driver("a.sock", {reported("gpu-1", Health::Unhealthy, 60, "xid 79")});
  ASSERT_TRUE(shows("Unhealthy: xid 79"));
  const auto before = seen();
  agents.reset();
  one.reset();
  start({"node-1"});
  EXPECT_EQ(shown(), "Unhealthy: xid 79") << "the plugin is not registered yet";
  one = driver("a.sock",
               {reported("gpu-1", Health::Unhealthy, 60, "xid 79"), reported("gpu-2", Health::Healthy)});
  ASSERT_TRUE(
      eventually([&] { return feed.latest("node-1")->drivers.at("gpu.example.com").devices.size() == 2; }));
  EXPECT_EQ(seen(), before);
}

TEST_F(Agents, AfterAnotherBootAndAfterADamagedCheckpointNothingIsHealthy) {
  auto one = driver("a.sock", {reported("gpu-1", Health::Healthy)});
  ASSERT_TRUE(shows("Healthy"));
  agents.reset();
  one.reset();
  start({"node-1"}, "the-next-boot");
  EXPECT_EQ(shown(), "Unknown: no health report since the node agent started");
  agents.reset();
  std::ofstream(root + "/nodes/.health/node-1.checkpoint") << "torn";
  start({"node-1"});
  EXPECT_EQ(shown(), "Unknown: no plugin of driver gpu.example.com is registered");
  EXPECT_TRUE(std::filesystem::exists(root + "/nodes/.health/node-1.checkpoint.refused"));
  one = driver("a.sock", {reported("gpu-1", Health::Healthy)});
  EXPECT_TRUE(shows("Healthy")) << shown();
}

TEST_F(Agents, ADeviceIsInTheCheckpointBeforeItIsShown) {
  const auto one = driver("a.sock", {reported("gpu-1", Health::Healthy)});
  ASSERT_TRUE(shows("Healthy"));
  const auto loaded = CheckpointFile(root + "/nodes/.health", "node-1").load();
  ASSERT_EQ(loaded.from, CheckpointFile::Loaded::From::File);
  EXPECT_EQ(loaded.checkpoint.drivers.at("gpu.example.com").devices.size(), 1u);
}

NodePod claiming(const char* uid, std::vector<std::string> claims) {
  NodePod pod{uid, "d", uid, {}};
  for (const std::string& claim : claims)
    pod.claims.push_back(
        {{"uid-" + claim, "d", claim}, {{"gpu.example.com", NodeOperations::PrepareAndUnprepare}}});
  return pod;
}

// "" when the claim is prepared for the pod, else why it is not.
std::string unprepared(HealthFeed& feed, const NodePod& pod) {
  const auto snapshot = feed.peek("node-1");
  if (!snapshot || !snapshot->claims) return "nothing is known";
  if (const auto why = snapshot->unprepared.find(pod.uid); why != snapshot->unprepared.end())
    return why->second;
  for (const NeededClaim& claim : pod.claims) {
    const auto info = snapshot->claims->find(claim.id.uid);
    if (info == snapshot->claims->end() ||
        !is_prepared_for(&info->second, claim, pod.uid, snapshot->claim_drivers))
      return claim.id.name + " is not prepared";
  }
  return "";
}

using Lines = std::vector<std::string>;

TEST_F(Agents, ClaimsArePreparedForTheirPodsAndUnpreparedAfterThem) {
  for (const char* service : {"v1.DRAPlugin", "v1beta1.DRAPlugin"}) {
    const auto one = driver("a.sock", {reported("gpu-1", Health::Healthy)}, {service});
    const NodePod pod = claiming("p", {"x", "y"});
    feed.put_pods("node-1", {pod});
    ASSERT_TRUE(eventually([&] { return unprepared(feed, pod).empty(); })) << unprepared(feed, pod);
    EXPECT_EQ(one->calls(), Lines{"NodePrepareResources d/x,d/y"});
    const ClaimDriver prepared = feed.peek("node-1")->claims->at("uid-x").drivers.at("gpu.example.com");
    EXPECT_EQ(prepared.devices,
              (std::vector<PreparedDevice>{{{}, "node-1", "gpu-1", "", {"gpu.example.com/device=gpu-1"}}}));
    feed.put_pods("node-1", {});
    EXPECT_TRUE(eventually([&] { return feed.peek("node-1")->claims->empty(); }));
    EXPECT_EQ(one->calls().back(), "NodeUnprepareResources d/x,d/y");
  }
}

TEST_F(Agents, AFailedPreparationIsToldAndRepeated) {
  const auto one = driver("a.sock", {});
  one->answer_claims("no GPU left");
  const NodePod pod = claiming("p", {"x"});
  feed.put_pods("node-1", {pod});
  const std::string why = "NodePrepareResources failed for ResourceClaim x: no GPU left";
  ASSERT_TRUE(eventually([&] { return unprepared(feed, pod) == why; })) << unprepared(feed, pod);
  one->answer_claims("");
  EXPECT_TRUE(eventually([&] { return unprepared(feed, pod).empty(); })) << unprepared(feed, pod);
}

TEST_F(Agents, ClaimsGoToTheNewestInstanceAndWaitForADriverThatLeft) {
  auto old = driver("old.sock", {});
  ASSERT_TRUE(eventually([&] { return old->answers().size() == 1; }));
  auto fresh = driver("new.sock", {});
  ASSERT_TRUE(eventually([&] { return fresh->answers().size() == 1; }));
  const NodePod one = claiming("p", {"x"}), two = claiming("q", {"y"}), three = claiming("r", {"z"});
  feed.put_pods("node-1", {one});
  ASSERT_TRUE(eventually([&] { return unprepared(feed, one).empty(); }));
  EXPECT_EQ(fresh->calls(), Lines{"NodePrepareResources d/x"});
  fresh.reset();
  feed.put_pods("node-1", {one, two});
  ASSERT_TRUE(eventually([&] { return unprepared(feed, two).empty(); })) << unprepared(feed, two);
  EXPECT_EQ(old->calls(), Lines{"NodePrepareResources d/y"});
  old.reset();
  const std::string gone = "DRA driver gpu.example.com is not registered";
  feed.put_pods("node-1", {one, two, three});
  ASSERT_TRUE(eventually([&] { return unprepared(feed, three) == gone; })) << unprepared(feed, three);
  EXPECT_EQ(unprepared(feed, one), "");
  agents.reset();
  start({"node-1"});
  feed.put_pods("node-1", {one, three});
  EXPECT_TRUE(eventually([&] { return unprepared(feed, three) == gone; })) << "it is known after a restart";
  old = driver("old.sock", {});
  EXPECT_TRUE(eventually([&] { return unprepared(feed, three).empty(); }));
  ASSERT_TRUE(eventually([&] { return old->calls().size() == 2; }));
  Lines called = old->calls();
  std::sort(called.begin(), called.end());
  EXPECT_EQ(called, (Lines{"NodePrepareResources d/z", "NodeUnprepareResources d/y"}));
}

TEST_F(Agents, WhatAnAgentThatDiedHadAskedForIsUnprepared) {
  const auto one = driver("a.sock", {});
  one->answer_claims("", std::chrono::milliseconds(300));
  feed.put_pods("node-1", {claiming("p", {"x"})});
  ASSERT_TRUE(eventually([&] { return one->calls().size() == 1; }));
  std::filesystem::copy(root + "/nodes/.health", root + "/crashed", std::filesystem::copy_options::recursive);
  agents.reset();
  std::filesystem::remove_all(root + "/nodes/.health");
  std::filesystem::rename(root + "/crashed", root + "/nodes/.health");
  start({"node-1"});
  feed.put_pods("node-1", {});
  EXPECT_TRUE(eventually([&] { return one->calls().size() == 2; }));
  EXPECT_EQ(one->calls().back(), "NodeUnprepareResources d/x");
}

// A socket that takes connections and says nothing: calls to it are in flight until they are cancelled.
struct Silence {
  explicit Silence(const std::string& path) : descriptor(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(descriptor, 8), 0);
  }
  ~Silence() { ::close(descriptor); }
  int descriptor;
};

// It answers every connection with garbage.
struct Noise : Silence {
  explicit Noise(const std::string& path) : Silence(path) {
    thread = std::thread([this] {
      for (int peer = ::accept(descriptor, nullptr, nullptr); peer >= 0;
           peer = ::accept(descriptor, nullptr, nullptr)) {
        const std::string noise(4096, '\xee');
        ::send(peer, noise.data(), noise.size(), MSG_NOSIGNAL);
        ::close(peer);
        ++met;
      }
    });
  }
  ~Noise() {
    ::shutdown(descriptor, SHUT_RDWR);
    thread.join();
  }
  std::atomic<int> met{0};
  std::thread thread;
};

TEST_F(Agents, APluginIntroducesItselfUntilItsFirstAnswer) {
  std::vector<bool> told;
  feed.on_change([&](const std::string& node) { told.push_back(feed.introducing(node)); });
  const auto one = driver("a.sock", {});
  ASSERT_TRUE(eventually([&] { return !one->answers().empty(); }));
  feed.on_change({});
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(told.front());
  EXPECT_FALSE(feed.introducing("node-1"));
}

TEST_F(Agents, NoiseAndFilesAreSurvived) {
  Noise noise(socket("noise.sock"));
  std::ofstream(socket("file.sock")) << "no socket";
  ::mkdir(socket("folder").c_str(), 0700);
  ASSERT_TRUE(eventually([&] { return noise.met >= 2; })) << "it is tried again";
  EXPECT_TRUE(eventually([&] { return !feed.introducing("node-1"); })) << "it is not waited for";
  const auto hidden = driver(".hidden.sock", {reported("gpu-1", Health::Unhealthy)});
  const auto one = driver("folder/a.sock", {reported("gpu-1", Health::Healthy)});
  EXPECT_TRUE(shows("Healthy")) << shown();
  EXPECT_TRUE(hidden->answers().empty());
}

// The answers to the calls in flight come when the agent that made them is gone.
TEST_F(Agents, ANodeAndTheAgentsEndWhilePluginsAreCalled) {
  const Silence first(socket("a.sock"));
  const Silence second(root + "/nodes/node-2/plugins_registry/a.sock");
  ASSERT_TRUE(eventually([&] { return feed.introducing("node-1") && feed.introducing("node-2"); }));
  feed.put_node("node-1", HealthFeed::Presence::Here);
  feed.put_node("node-1", HealthFeed::Presence::Gone);
  ASSERT_TRUE(eventually([&] { return !feed.serves("node-1"); }));
  EXPECT_TRUE(feed.introducing("node-2"));
  agents.reset();
  EXPECT_TRUE(feed.introducing("node-2")) << "nobody answered";
}

TEST_F(Agents, FoldersOfANodeBeyondTheFirstAreMadeWhenSomebodyWantsThem) {
  agents.reset();
  std::vector<std::string> nodes;
  for (int n = 1; n <= 1100; ++n) nodes.push_back("node-" + std::to_string(n));
  start(nodes);
  const std::string late = root + "/nodes/node-1099";
  EXPECT_TRUE(std::filesystem::exists(root + "/nodes/node-1000/device-plugins"));
  EXPECT_FALSE(std::filesystem::exists(late));
  ::mkdir(late.c_str(), 0700);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(late + "/plugins_registry"); }));
  HealthDriverOptions options;
  options.socket = late + "/plugins_registry/a.sock";
  const auto served = HealthDriver::serve(options);
  ASSERT_TRUE(served.ok());
  EXPECT_TRUE(eventually([&] { return (*served)->answers().size() == 1; }));
}

}  // namespace
}  // namespace berth::health
