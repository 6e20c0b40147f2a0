// The plugins of a node without sockets: a client that the test plays, and virtual time. Mostly the guest
// beside a kubelet; the others have real sockets in node_agents_test.cc.
#include "health/node_plugins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "health/node_agent.h"
#include "health/plugin_messages.h"

namespace berth::health {
namespace {

// Records the calls; the test answers.
class PlayedClient final : public PluginClient {
 public:
  struct Open {
    std::string socket;
    StreamHandlers handlers;
    int asked = 0;
  };
  class PlayedStream final : public Stream {
   public:
    PlayedStream(PlayedClient& client, std::size_t index) : client_(client), index_(index) {}
    ~PlayedStream() override { client_.live.erase(index_); }
    void next() override { ++client_.opened.at(index_).asked; }

   private:
    PlayedClient& client_;
    std::size_t index_;
  };
  void introduce(const std::string& socket, std::function<void(Result<PluginInfo>)> answer) override {
    calls.push_back("GetInfo " + socket);
    introductions[socket] = std::move(answer);
  }
  void notify(const std::string& socket, Registered registered, const std::string&,
              std::function<void(Status)> answer) override {
    calls.push_back((registered == Registered::Yes ? "registered " : "refused ") + socket);
    fail_late(std::move(answer));
  }
  void allocate(const std::string&, AllocateCall,
                std::function<void(Result<AllocateAnswer>)> answer) override {
    calls.push_back("Allocate");
    fail_late(std::move(answer));
  }
  void call(const std::string&, const ClaimCall&, std::function<void(Result<ClaimResults>)> answer) override {
    calls.push_back("claims");
    fail_late(std::move(answer));
  }
  std::unique_ptr<Stream> watch(const std::string& socket, HealthService, StreamHandlers handlers) override {
    opened.push_back({socket, std::move(handlers)});
    live.insert(opened.size() - 1);
    return std::make_unique<PlayedStream>(*this, opened.size() - 1);
  }
  void fail_late(auto answer) {
    late_failures.push_back([answer = std::move(answer)] { answer(Error(ErrorCode::Unavailable, "late")); });
  }
  std::vector<std::string> calls;
  std::map<std::string, std::function<void(Result<PluginInfo>)>> introductions;
  std::vector<std::function<void()>> late_failures;  // each ends one call that is not answered yet
  std::vector<Open> opened;
  std::set<std::size_t> live;
};

struct PlayedPlugins {
  explicit PlayedPlugins(NodeRole role) : role_(role) {}

  void plugin(const std::string& path, PluginInfo info) {
    plugins.appeared(path, now);
    client.introductions.at(path)(std::move(info));
  }
  void driver(const std::string& path) {
    plugin(path, {"DRAPlugin", "gpu.example.com", path + ".dra", {"v1.DRAPlugin", "v1.DRAResourceHealth"}});
  }
  // The newest stream says it of these devices; their timeout is 30 s.
  void report(std::vector<std::string> devices, Health health = Health::Healthy) {
    Reports reports;
    for (std::string& device : devices) reports.push_back({{"node-1", std::move(device)}, {health, ""}, 30});
    client.opened.back().handlers.message(std::move(reports));
  }
  void pass(Duration time) {
    const Time end = now + time;
    while (now < end) {
      const auto wake = plugins.next_wake();
      now = wake && *wake < end ? std::max(now, *wake) : end;
      plugins.step(now);
    }
  }
  std::string shown(const char* device) const {
    const DeviceHealth health = plugins.cache().snapshot()->of("gpu.example.com", {"node-1", device});
    return std::string(name_of(health.health)) + (health.message.empty() ? "" : ": " + health.message);
  }

  NodeRole role_;
  Time now = Time::from_seconds(1000);
  PlayedClient client;
  int changes = 0;
  NodePlugins plugins{"node-1",
                      client,
                      [this](std::function<void(NodePlugins&, Time)> work) { work(plugins, now); },
                      {[this](Time) { ++changes; }, [](Time) {}, [](Time) {}, [](bool) {}},
                      {},
                      role_};
};

TEST(NodePluginsTest, AGuestReadsInfoAndStreamsAndSaysNothingToAnyPlugin) {
  PlayedPlugins guest(NodeRole::BesideKubelet);
  guest.driver("/r/gpu.sock");
  guest.plugin("/r/csi.sock", {"CSIPlugin", "csi.example.com", "/x", {"1.0.0"}});
  guest.plugin("/r/device.sock", {"DevicePlugin", "example.com/gpu", "/y", {"v1beta1"}});
  guest.plugin("/r/old.sock", {"DRAPlugin", "old.example.com", "/z", {"1.0.0"}});
  guest.report({"gpu-1"});
  guest.pass(Duration::minutes(1));
  EXPECT_EQ(guest.client.calls, (std::vector<std::string>{"GetInfo /r/gpu.sock", "GetInfo /r/csi.sock",
                                                          "GetInfo /r/device.sock", "GetInfo /r/old.sock"}));
  ASSERT_EQ(guest.client.opened.size(), 1u);
  EXPECT_EQ(guest.client.opened[0].socket, "/r/gpu.sock.dra") << "the service's socket, for reading alone";
}

TEST(NodePluginsTest, WithoutAKubeletEveryRegistrationIsAnswered) {
  PlayedPlugins owner(NodeRole::RegistersDrivers);
  owner.driver("/r/gpu.sock");
  owner.plugin("/r/csi.sock", {"CSIPlugin", "csi.example.com", "/x", {"1.0.0"}});
  EXPECT_EQ(owner.client.calls, (std::vector<std::string>{"GetInfo /r/gpu.sock", "registered /r/gpu.sock",
                                                          "GetInfo /r/csi.sock", "refused /r/csi.sock"}));
}

TEST(NodePluginsTest, AGuestLeavesAStreamThatBeginsWithoutAReport) {
  PlayedPlugins guest(NodeRole::BesideKubelet);
  guest.driver("/r/gpu.sock");
  guest.pass(kGuestFirstReportMax - Duration::seconds(1));
  EXPECT_EQ(guest.client.live.size(), 1u);
  guest.pass(Duration::seconds(2));
  EXPECT_EQ(guest.client.live.size(), 0u) << "the kubelet's stream may have got the report";
  EXPECT_EQ(guest.plugins.cache().snapshot()->drivers.at("gpu.example.com").stream, StreamState::Yielded);
  guest.pass(kGuestBackoffBase);
  EXPECT_EQ(guest.client.live.size(), 1u);
  guest.pass(kGuestFirstReportMax + kGuestBackoffBase);
  EXPECT_EQ(guest.client.live.size(), 0u) << "the second pause is twice as long";
  guest.pass(kGuestBackoffBase);
  guest.report({"gpu-1"});
  EXPECT_EQ(guest.shown("gpu-1"), "Healthy");
  EXPECT_EQ(guest.plugins.cache().snapshot()->drivers.at("gpu.example.com").stream, StreamState::Up);
}

TEST(NodePluginsTest, AGuestBacksOffWhenTwoReadersShareADriversMessages) {
  PlayedPlugins guest(NodeRole::BesideKubelet);
  guest.driver("/r/gpu.sock");
  guest.report({"gpu-1", "gpu-2"});
  guest.pass(Duration::seconds(40));
  EXPECT_EQ(guest.shown("gpu-1"), "Unknown: no health report for more than 30s");
  guest.report({"gpu-1", "gpu-2"});
  EXPECT_EQ(guest.client.live.size(), 1u) << "one gap may be the driver's own";
  guest.pass(Duration::seconds(40));
  guest.report({"gpu-1", "gpu-2"}, Health::Unhealthy);
  EXPECT_EQ(guest.client.live.size(), 0u);
  EXPECT_EQ(guest.shown("gpu-1"), "Unhealthy") << "the report counts";
  guest.pass(Duration::seconds(31));
  EXPECT_EQ(guest.shown("gpu-1"),
            "Unknown: no health report for more than 30s: the health stream of driver gpu.example.com is "
            "left to the "
            "node's kubelet");
  guest.pass(Duration::seconds(30));
  EXPECT_EQ(guest.client.live.size(), 1u);
  guest.report({"gpu-1", "gpu-2"});
  EXPECT_EQ(guest.shown("gpu-1"), "Healthy");
}

TEST(NodePluginsTest, ADeviceThatLeftIsNoGap) {
  PlayedPlugins guest(NodeRole::BesideKubelet);
  guest.driver("/r/gpu.sock");
  guest.report({"gpu-1", "gone-1", "gone-2"});
  for (int i = 0; i < 30; ++i) {
    guest.pass(Duration::seconds(10));
    guest.report({"gpu-1"});
  }
  EXPECT_EQ(guest.client.live.size(), 1u);
  EXPECT_EQ(guest.client.opened.size(), 1u);
  EXPECT_EQ(guest.shown("gone-1"), "Unknown: no health report for more than 30s");
}

// A driver that serves its newest stream alone ends the other one each time: two readers must not fight.
TEST(NodePluginsTest, AGuestWhoseStreamsAreEndedComesLessAndLessOften) {
  PlayedPlugins guest(NodeRole::BesideKubelet);
  guest.driver("/r/gpu.sock");
  const auto opened_in = [&](Duration span) {
    const std::size_t before = guest.client.opened.size();
    const Time end = guest.now + span;
    while (guest.now < end) {
      if (!guest.client.live.empty()) {
        guest.report({"gpu-1"});
        guest.client.opened.back().handlers.end(Error(ErrorCode::Unavailable, "another stream"));
      }
      guest.pass(Duration::seconds(1));
    }
    return guest.client.opened.size() - before;
  };
  EXPECT_GE(opened_in(Duration::minutes(1)), 2u);
  opened_in(Duration::minutes(60));
  EXPECT_LE(opened_in(Duration::minutes(60)), 2u);
}

TEST(NodePluginsTest, AStreamThatIsCalmForLongMayFailAgainLikeTheFirstTime) {
  PlayedPlugins guest(NodeRole::BesideKubelet);
  guest.driver("/r/gpu.sock");
  for (int n = 0; n < 4; ++n) {
    guest.client.opened.back().handlers.end(Error(ErrorCode::Unavailable, "gone"));
    guest.pass(Duration::seconds(6));
    EXPECT_EQ(guest.client.live.size(), n == 0 ? 1u : 0u) << "twice as long each time";
    while (guest.client.live.empty()) guest.pass(Duration::seconds(1));
    guest.report({"gpu-1"});
  }
  const Time calm = guest.now + kGuestCalm;
  while (guest.now <= calm) {
    guest.report({"gpu-1"});
    guest.pass(Duration::seconds(10));
  }
  guest.report({"gpu-1"});
  guest.client.opened.back().handlers.end(Error(ErrorCode::Unavailable, "gone"));
  guest.pass(Duration::seconds(6));
  EXPECT_EQ(guest.client.live.size(), 1u);
}

// A message or an end of a stream that was replaced changes nothing, in whatever order the threads hand it
// over.
TEST(NodePluginsTest, LateWordsOfAReplacedInstanceAreDropped) {
  PlayedPlugins node(NodeRole::OwnsNodes);
  node.driver("/r/old.sock");
  node.report({"gpu-1"});
  const auto old = node.client.opened.back().handlers;
  node.driver("/r/new.sock");
  node.report({"gpu-1"}, Health::Unhealthy);
  EXPECT_EQ(node.shown("gpu-1"), "Unhealthy");
  old.message({{{"node-1", "gpu-1"}, {Health::Healthy, ""}, 30}});
  EXPECT_EQ(node.shown("gpu-1"), "Unhealthy");
  old.end(Error(ErrorCode::Unsupported, "not served"));
  node.plugins.vanished("/r/old.sock", node.now);
  EXPECT_EQ(node.shown("gpu-1"), "Unhealthy");
  EXPECT_EQ(node.client.live.size(), 1u);
}

TEST(NodePluginsTest, AMessageBehindTheEndOfItsStreamIsDropped) {
  PlayedPlugins node(NodeRole::OwnsNodes);
  node.driver("/r/gpu.sock");
  const auto handlers = node.client.opened.back().handlers;
  handlers.end(Error(ErrorCode::Unavailable, "Socket closed"));
  handlers.message({{{"node-1", "gpu-1"}, {Health::Healthy, ""}, 30}});
  handlers.end(Error(ErrorCode::Unavailable, "Socket closed"));
  EXPECT_EQ(node.shown("gpu-1"),
            "Unknown: driver gpu.example.com has not reported the health of this device");
  node.pass(Duration::seconds(6));
  EXPECT_EQ(node.client.live.size(), 1u) << "one retry, after the first backoff";
}

// The end of the connection, without another word: the last reports age, and nothing else happens.
TEST(NodePluginsTest, ADroppedChannelClearsNothingBeforeTheDeadline) {
  PlayedPlugins node(NodeRole::OwnsNodes);
  node.driver("/r/gpu.sock");
  node.report({"gpu-1"});
  node.client.opened.back().handlers.end(Error(ErrorCode::Unavailable, "Socket closed"));
  const int changes = node.changes;
  node.pass(Duration::seconds(29));
  EXPECT_EQ(node.shown("gpu-1"), "Healthy");
  EXPECT_EQ(node.changes, changes);
  node.pass(Duration::seconds(2));
  EXPECT_EQ(node.shown("gpu-1").substr(0, 7), "Unknown");
  EXPECT_EQ(node.changes, changes + 1) << "told at the deadline, though nobody speaks";
}

// One device "g" of pool "p", Healthy, with last_updated_time (field 3) of these bytes.
std::string health_message(const std::string& updated) {
  const std::string device = std::string("\x0a\x06\x0a\x01p\x12\x01g\x10\x01", 10) + updated;
  return "\x0a" + std::string(1, static_cast<char>(device.size())) + device;
}

TEST(PluginMessages, TheDriversOwnClockIsNotRead) {
  const std::string long_ago("\x18\x01", 2), far_off("\x18\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
  for (const std::string& updated : {std::string(), long_ago, far_off}) {
    const auto reports = reports_in(health_message(updated), HealthService::V1);
    ASSERT_TRUE(reports);
    ASSERT_EQ(reports->size(), 1u);
    EXPECT_EQ(reports->front().name, (DeviceName{"p", "g"}));
    EXPECT_EQ(reports->front().health.health, Health::Healthy);
    EXPECT_EQ(reports->front().timeout_s, 0);
  }
}

TEST(PluginMessages, BytesThatAreNoMessageAreRefused) {
  const std::string whole = health_message("");
  for (const HealthService service : {HealthService::V1, HealthService::Kep, HealthService::DevicePlugin}) {
    EXPECT_TRUE(reports_in("", service)) << "an empty message is one without devices";
    EXPECT_FALSE(reports_in("\xff\xff\xff", service));
    EXPECT_FALSE(reports_in(whole.substr(0, whole.size() - 1), service));
  }
}

TEST(NodePluginsTest, HostileNamesDoNotReachAnybody) {
  struct Case {
    std::string pool, device;
    bool shown;
  };
  const Case cases[] = {{"node-1", "gpu-1", true},
                        {"racks/r1/node-1", "gpu-1", true},
                        {"node-1", "gpu/1", false},
                        {"node-1", "../gpu-1", false},
                        {"node-1", "", false},
                        {"", "gpu-1", false},
                        {"node-1", "GPU_1", false},
                        {"node-1", std::string("gpu\0x", 5), false},
                        {"node-1", std::string(64, 'g'), false},
                        {std::string(254, 'p'), "gpu-1", false}};
  for (const Case& c : cases) {
    PlayedPlugins node(NodeRole::BesideKubelet);
    node.driver("/r/gpu.sock");
    node.client.opened.back().handlers.message(
        {{{c.pool, c.device}, {Health::Healthy, std::string(5000, 'm')}, 30}});
    const auto snapshot = node.plugins.cache().snapshot();
    const auto& devices = snapshot->drivers.at("gpu.example.com").devices;
    EXPECT_EQ(devices.size(), c.shown ? 1u : 0u) << c.pool << " " << c.device;
    for (const auto& [name, health] : devices) EXPECT_LE(health.message.size(), kMessageBytesMax);
  }
}

// A node whose agent has a call of every kind in flight. The agent is destroyed where it stands and its
// memory cleared, so that whoever still reads it fails in every build.
struct AgentWithCalls {
  AgentWithCalls() {
    feed.serve("node-1");
    agent->appeared("/r/gpu.sock", now);
    client.introductions.at("/r/gpu.sock")(
        PluginInfo{"DRAPlugin", "gpu.example.com", "", {"v1.DRAPlugin", "v1.DRAResourceHealth"}});
    agent->registered({"v1beta1", "a.sock", "example.com/nic"}, now);
    client.opened.back().handlers.message({{{"", "nic-1"}, {Health::Healthy, ""}}});
    NeededClaim claim{{"u", "d", "c"}, {{"gpu.example.com", NodeOperations::PrepareAndUnprepare}}};
    feed.put_pods(
        "node-1",
        {{"p", "d", "p", {{"main", ContainerNeeds::Runs::Regular, {{"example.com/nic", 1}}, {}}}, {claim}}});
    agent->pods_changed(now);
    agent->appeared("/r/slow.sock", now);
  }
  ~AgentWithCalls() {
    if (agent) end();
  }
  void end() {
    std::destroy_at(std::exchange(agent, nullptr));
    std::fill(std::begin(memory), std::end(memory), std::byte{0});
  }

  Time now = Time::from_seconds(1000);
  PlayedClient client;
  HealthFeed feed;
  int dropped = 0;
  alignas(NodeAgent) std::byte memory[sizeof(NodeAgent)] = {};
  NodeAgent* agent = ::new (memory) NodeAgent(
      "node-1", "/n", client, feed,
      [this](const std::function<void(NodeAgent&, Time)>& work) {
        if (agent)
          work(*agent, now);
        else
          ++dropped;
      },
      [](NodeAgent::Kept) { return Status(); }, {}, NodeRole::OwnsNodes);
};

TEST(NodeAgentTest, AnswersThatComeAfterItsEndAreDropped) {
  AgentWithCalls node;
  EXPECT_EQ(node.client.calls, (std::vector<std::string>{"GetInfo /r/gpu.sock", "registered /r/gpu.sock",
                                                         "Allocate", "claims", "GetInfo /r/slow.sock"}));
  node.end();
  EXPECT_EQ(node.client.live.size(), 0u) << "streams end with it";
  node.client.introductions.at("/r/slow.sock")(Error(ErrorCode::Unavailable, "late"));
  for (const auto& fail : node.client.late_failures) fail();
  EXPECT_EQ(node.dropped, 4);
}

}  // namespace
}  // namespace berth::health
