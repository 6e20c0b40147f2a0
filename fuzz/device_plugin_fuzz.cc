// rooms: base health
// Any registrations of device plugins with any lists: what is not sound is refused, and what a node shows of
// the rest is bounded and survives a restart.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/testing/fuzz_input.h"
#include "health/device_plugins.h"
#include "health/plugin_messages.h"

namespace {

using namespace berth::health;
using berth::Duration;
using berth::Time;

constexpr std::size_t kTextBytesMax = 400;
constexpr std::size_t kMessageTextBytesMax = 4096;

void require(bool holds) {
  if (!holds) std::abort();
}

class ListingClient final : public PluginClient {
 public:
  class Silent final : public Stream {
    void next() override {}
  };
  void introduce(const std::string&, std::function<void(berth::Result<PluginInfo>)>) override {}
  void notify(const std::string&, Registered, const std::string&,
              std::function<void(berth::Status)>) override {}
  void allocate(const std::string&, AllocateCall,
                std::function<void(berth::Result<AllocateAnswer>)>) override {}
  void call(const std::string&, const ClaimCall&, std::function<void(berth::Result<ClaimResults>)>) override {
  }
  std::unique_ptr<Stream> watch(const std::string& socket, HealthService service,
                                StreamHandlers handlers) override {
    require(service == HealthService::DevicePlugin);
    require(socket.size() <= kSocketPathBytesMax && socket.starts_with("/d/") &&
            socket.find('/', 3) == std::string::npos);
    streams.push_back(std::move(handlers));
    return std::make_unique<Silent>();
  }
  std::vector<StreamHandlers> streams;
};

void check(const DevicePlugins& plugins, Time now) {
  const PluginResources& resources = plugins.resources();
  require(resources.size() <= kPluginResourcesPerNodeMax);
  for (const auto& [name, resource] : resources) {
    require(resource.devices.size() <= kPluginDevicesMax);
    for (const auto& [id, device] : resource.devices) {
      require(!id.empty() && id.size() <= kPluginDeviceIdBytesMax);
      require(!device.allocatable || device.health.health == Health::Healthy);
    }
    if (!plugins.plugin_of(name)) continue;
    require(resource.registered);
  }
  ListingClient client;
  DevicePlugins again(
      "node-1", "/d", client, [](std::function<void(DevicePlugins&, Time)>) {}, [](Time) {}, {});
  again.restore(plugins.kept(now), Duration(), now);
  again.step(now);
  require(again.resources().size() == resources.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  berth::fuzz::Input input(bytes, size);
  ListingClient client;
  Time now = Time::from_seconds(1000);
  DevicePlugins* self = nullptr;
  DevicePlugins plugins(
      "node-1", "/d", client, [&](std::function<void(DevicePlugins&, Time)> work) { work(*self, now); },
      [](Time) {}, {});
  self = &plugins;
  for (int step = 0; step < 64 && input.left() > 0; ++step) {
    switch (input.number(0, 4)) {
      case 0: {
        PluginRegistration registration{"v1beta1", "plugin.sock",
                                        "example.com/" + std::to_string(input.number(0, 99)), input.flag(),
                                        input.flag()};
        if (input.flag()) {
          registration.version = input.text(12);
          registration.endpoint = input.text(kTextBytesMax);
          registration.resource = input.text(kTextBytesMax);
        }
        if (registration_problem(registration).empty()) plugins.registered(registration, now);
        break;
      }
      case 1:
      case 2: {
        if (client.streams.empty()) break;
        const auto handlers = client.streams[input.index(client.streams.size())];
        if (input.number(0, 7) == 0) {
          handlers.end(berth::Error(berth::ErrorCode::Unavailable, "ended"));
          break;
        }
        if (auto list = reports_in(input.text(kMessageTextBytesMax), HealthService::DevicePlugin))
          handlers.message(std::move(*list));
        break;
      }
      default:
        now = now + Duration::millis(input.number(0, 400000));
        plugins.step(now);
        check(plugins, now);
    }
  }
  check(plugins, now);
  return 0;
}
