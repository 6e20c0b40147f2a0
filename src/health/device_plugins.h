// The device plugins of one node: their lists of devices, and which plugin allocates them.
//
// Owner: one thread, on which `post` also delivers every response of the client. Reads no clock. The newest
// registration of a resource replaces the one before, whose late messages are ignored. When a plugin's stream
// ends, none of its devices is allocatable any more. They keep their health for the health timeout, because a
// plugin that is updated registers again. Then they are Unknown, and after kResourceForgottenAfter they are
// dropped. Source: kubelet's device manager, KEP-4680 ("distinguish unhealthy devices and when device plugin
// was unregistered").
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "health/health_cache.h"
#include "health/plugin_client.h"
#include "health/plugin_devices.h"

namespace berth::health {

inline constexpr Duration kResourceForgottenAfter = Duration::minutes(5);
inline constexpr int kListsPerSecondMax = 200;  // of one plugin

// A device plugin's registration.
struct PluginRegistration {
  std::string version;
  std::string endpoint;  // a file name in the folder of the agent's socket
  std::string resource;
  bool pre_start = false;
  bool preferences = false;
};
// The sentence of the refusal; empty when it is sound.
std::string registration_problem(const PluginRegistration& registration);

// What a checkpoint keeps of a resource.
struct KeptResource {
  bool forgotten = false;
  std::map<std::string, PluginDevice, std::less<>> devices;
  Duration unheard;  // since its plugin was registered
};
using KeptResources = std::map<std::string, KeptResource, std::less<>>;

class DevicePlugins {
 public:
  using Post = std::function<void(std::function<void(DevicePlugins&, Time)> work)>;
  // Called after a change that readers see.
  using Changed = std::function<void(Time)>;
  // The sockets of plugins are in `folder`. `client` outlives it.
  DevicePlugins(std::string node, std::string folder, PluginClient& client, Post post, Changed changed,
                HealthTiming timing);
  ~DevicePlugins();

  // `registration` is sound.
  void registered(const PluginRegistration& registration, Time now);
  void step(Time now);
  std::optional<Time> next_wake() const;

  const PluginResources& resources() const { return visible_; }
  // Null while no plugin of the resource is registered.
  const PluginRegistration* plugin_of(std::string_view resource) const;
  std::string socket_of(const PluginRegistration& registration) const;

  KeptResources kept(Time now) const;
  // Like HealthCache::restore.
  void restore(const KeptResources& kept, std::optional<Duration> passed, Time now);

 private:
  struct Resource {
    PluginRegistration registration;
    std::uint64_t generation = 0;
    std::unique_ptr<PluginClient::Stream> stream;
    std::optional<Time> ended;  // no plugin since then
    bool unknown = false, forgotten = false;
    Time second;  // start of the window in which lists are counted
    int lists = 0;
  };
  void on_list(const std::string& name, std::uint64_t generation, const Reports& reports, Time now);
  void on_end(const std::string& name, std::uint64_t generation, const Error& error, Time now);
  void make_unknown(const std::string& name, std::string_view why);
  std::optional<Time> due(const Resource& resource) const;

  std::string node_, folder_;
  PluginClient& client_;
  Post post_;
  Changed changed_;
  HealthTiming timing_;
  std::map<std::string, Resource, std::less<>> resources_;
  PluginResources visible_;
  std::uint64_t last_generation_ = 0;
};

}  // namespace berth::health
