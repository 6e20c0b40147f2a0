// rooms: base health
// Any plugins with any messages on any of their health streams, beside a kubelet or not: what readers see,
// what the checkpoint keeps and what a node's report says stays within its bounds, and reads back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "base/testing/fuzz_input.h"
#include "health/node_plugins.h"
#include "health/node_report.h"
#include "health/plugin_messages.h"

namespace {

using namespace berth::health;
using berth::Duration;
using berth::Time;

constexpr std::size_t kTextBytesMax = 300;
constexpr std::size_t kMessageTextBytesMax = 4096;
constexpr HealthService kServices[] = {HealthService::V1, HealthService::V1Alpha1, HealthService::Kep};

void require(bool holds) {
  if (!holds) std::abort();
}

class FuzzedClient final : public PluginClient {
 public:
  struct Open {
    HealthService service;
    StreamHandlers handlers;
    bool live = true;
  };
  class FuzzedStream final : public Stream {
   public:
    explicit FuzzedStream(bool& live) : live_(live) {}
    ~FuzzedStream() override { live_ = false; }
    void next() override {}

   private:
    bool& live_;
  };
  void introduce(const std::string& socket, std::function<void(berth::Result<PluginInfo>)> answer) override {
    introductions.emplace_back(socket, std::move(answer));
  }
  void notify(const std::string&, Registered, const std::string& error,
              std::function<void(berth::Status)>) override {
    require(!guest);
    require(error.size() < 4096);
  }
  void allocate(const std::string&, AllocateCall,
                std::function<void(berth::Result<AllocateAnswer>)>) override {}
  void call(const std::string&, const ClaimCall&, std::function<void(berth::Result<ClaimResults>)>) override {
  }
  std::unique_ptr<Stream> watch(const std::string&, HealthService service, StreamHandlers handlers) override {
    streams.push_back(std::make_unique<Open>(Open{service, std::move(handlers)}));
    return std::make_unique<FuzzedStream>(streams.back()->live);
  }
  bool guest = false;
  std::vector<std::pair<std::string, std::function<void(berth::Result<PluginInfo>)>>> introductions;
  std::vector<std::unique_ptr<Open>> streams;
};

void check(const HealthCache& cache, Time now) {
  const auto snapshot = cache.snapshot();
  ReportedDevices devices;
  for (const auto& [driver, health] : snapshot->drivers) {
    require(health.devices.size() <= kDevicesPerDriverMax);
    for (const auto& [name, device] : health.devices) {
      require(is_reportable(name));
      require(device.message.size() <= kMessageBytesMax);
      devices[driver][name] = {device, now};
    }
  }
  const berth::Json spec = report_spec(devices, silent_drivers(*snapshot));
  const std::string text = berth::to_string(spec);
  const ReportedDevices read = read_report(berth::Json::object({{"spec", spec}}));
  std::size_t count = 0;
  for (const auto& [driver, names] : read) count += names.size();
  require(count == spec.items_at("devices").size());
  if (const auto next = cache.next_deadline()) require(*next > now);
  HealthCache again;
  again.restore(cache.kept(now), Duration(), now);
  again.expire(now);
  for (const auto& [driver, health] : snapshot->drivers)
    for (const auto& [name, device] : health.devices)
      require(again.snapshot()->of(driver, name).health == device.health);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  berth::fuzz::Input input(bytes, size);
  FuzzedClient client;
  client.guest = input.flag();
  Time now = Time::from_seconds(1000);
  NodePlugins* self = nullptr;
  NodePlugins plugins(
      "node-1", client, [&](std::function<void(NodePlugins&, Time)> work) { work(*self, now); },
      {[](Time) {}, [](Time) {}, [](Time) {}, [](bool) {}}, {},
      client.guest ? NodeRole::BesideKubelet : NodeRole::OwnsNodes);
  self = &plugins;
  for (int step = 0; step < 64 && input.left() > 0; ++step) {
    const std::string path = "/r/" + std::to_string(input.number(0, 3));
    switch (input.number(0, 5)) {
      case 0:
        plugins.appeared(path, now);
        break;
      case 1:
        plugins.vanished(path, now);
        break;
      case 2: {
        if (client.introductions.empty()) break;
        auto answer = std::move(client.introductions.back().second);
        client.introductions.pop_back();
        PluginInfo info{"DRAPlugin", "gpu.example.com", "", {"v1.DRAPlugin", "v1.DRAResourceHealth"}};
        if (input.flag()) {
          info = {input.text(16),
                  input.text(kTextBytesMax),
                  input.text(kTextBytesMax),
                  {input.text(32), "v1alpha1.DRAResourceHealth", "v1alpha1.NodeHealth"}};
        }
        answer(std::move(info));
        break;
      }
      case 3: {
        if (client.streams.empty()) break;
        const std::size_t index = input.index(client.streams.size());
        const auto handlers = client.streams[index]->handlers;
        if (input.number(0, 7) == 0) {
          handlers.end(berth::Error(
              input.flag() ? berth::ErrorCode::Unsupported : berth::ErrorCode::Unavailable, "ended"));
          break;
        }
        const HealthService service = kServices[input.index(std::size(kServices))];
        if (auto reports = reports_in(input.text(kMessageTextBytesMax), service))
          handlers.message(std::move(*reports));
        break;
      }
      case 4:
        now = now + Duration::millis(input.number(0, 100000));
        plugins.step(now);
        break;
      default:
        now = now + Duration::seconds(input.number(0, 90000));
        plugins.step(now);
        check(plugins.cache(), now);
    }
  }
  plugins.step(now);
  check(plugins.cache(), now);
  return 0;
}
