#include "health/device_plugins.h"

#include <algorithm>

#include "api/names.h"
#include "base/log.h"

namespace berth::health {
namespace {

constexpr std::string_view kDevicePluginVersion = "v1beta1";
constexpr std::string_view kOwnDomain = "kubernetes.io/";
constexpr std::size_t kEndpointBytesMax = 90;

std::string left_text(const std::string& resource) {
  return "the device plugin of " + resource + " is not registered any more";
}

PluginResource listed(const Reports& reports) {
  PluginResource resource;
  resource.registered = true;
  for (const DeviceReport& report : reports) {
    const std::string& id = report.name.device;
    if (id.empty() || id.size() > kPluginDeviceIdBytesMax) continue;
    resource.devices.insert_or_assign(
        id, PluginDevice{report.health, report.health.health == Health::Healthy, report.numa_nodes});
  }
  return resource;
}

bool same(const PluginResource& one, const PluginResource& other) {
  return one.registered == other.registered &&
         std::equal(one.devices.begin(), one.devices.end(), other.devices.begin(), other.devices.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && a.second.health == b.second.health &&
                             a.second.allocatable == b.second.allocatable &&
                             a.second.numa_nodes == b.second.numa_nodes;
                    });
}

}  // namespace

std::string registration_problem(const PluginRegistration& registration) {
  const std::string& name = registration.resource;
  if (registration.version != kDevicePluginVersion)
    return "version: \"" + registration.version + "\" is not supported, only v1beta1 is";
  const bool own =
      name.starts_with(kOwnDomain) || name.find("." + std::string(kOwnDomain)) != std::string::npos;
  if (name.find('/') == std::string::npos || own || name.starts_with("requests."))
    return "resource_name: \"" + name + "\" is no extended resource like example.com/gpu";
  if (const auto problems = api::qualified_name_problems(name); !problems.empty())
    return "resource_name: \"" + name + "\" " + problems.front();
  const std::string& endpoint = registration.endpoint;
  if (endpoint.empty() || endpoint.front() == '.' || endpoint.find('/') != std::string::npos ||
      endpoint.find('\0') != std::string::npos || endpoint.size() > kEndpointBytesMax)
    return "endpoint: is the file name of a socket next to the one that was called";
  return "";
}

DevicePlugins::DevicePlugins(std::string node, std::string folder, PluginClient& client, Post post,
                             Changed changed, HealthTiming timing)
    : node_(std::move(node)),
      folder_(std::move(folder)),
      client_(client),
      post_(std::move(post)),
      changed_(std::move(changed)),
      timing_(timing) {}
DevicePlugins::~DevicePlugins() = default;

void DevicePlugins::registered(const PluginRegistration& registration, Time now) {
  const std::string& name = registration.resource;
  const std::string socket = socket_of(registration);
  std::string refusal;
  if (!resources_.contains(name) && resources_.size() >= kPluginResourcesPerNodeMax)
    refusal = "more than " + std::to_string(kPluginResourcesPerNodeMax) + " resources on one node";
  if (socket.size() > kSocketPathBytesMax) refusal = "the path of its socket is too long for a unix socket";
  if (!refusal.empty())
    return log(LogLevel::Warning, "a device plugin is not used",
               {{"node", node_}, {"resource", name}, {"cause", refusal}});
  log(LogLevel::Info, "a device plugin registered", {{"node", node_}, {"resource", name}});
  Resource& resource = resources_[name];
  resource.registration = registration;
  const std::uint64_t generation = resource.generation = ++last_generation_;
  resource.lists = 0;
  if (!resource.ended) resource.ended = now;  // until the first list
  PluginClient::StreamHandlers handlers;
  handlers.message = [post = post_, name, generation](Reports reports) {
    post([name, generation, reports = std::move(reports)](DevicePlugins& self, Time then) {
      self.on_list(name, generation, reports, then);
    });
  };
  handlers.end = [post = post_, name, generation](const Error& error) {
    post([name, generation, error](DevicePlugins& self, Time then) {
      self.on_end(name, generation, error, then);
    });
  };
  resource.stream = client_.watch(socket, HealthService::DevicePlugin, std::move(handlers));
  resource.stream->next();
}

std::string DevicePlugins::socket_of(const PluginRegistration& registration) const {
  return folder_ + "/" + registration.endpoint;
}

const PluginRegistration* DevicePlugins::plugin_of(std::string_view resource) const {
  const auto found = resources_.find(resource);
  if (found == resources_.end() || found->second.ended) return nullptr;
  return &found->second.registration;
}

void DevicePlugins::on_list(const std::string& name, std::uint64_t generation, const Reports& reports,
                            Time now) {
  Resource& resource = resources_.at(name);
  if (resource.generation != generation) return;
  if (!resource.second.is_set() || now - resource.second >= Duration::seconds(1)) {
    resource.second = now;
    resource.lists = 0;
  }
  if (++resource.lists > kListsPerSecondMax)
    return on_end(name, generation, Error(ErrorCode::TooLarge, "more lists a second than the bound"), now);
  if (reports.size() > kPluginDevicesMax)
    return on_end(name, generation, Error(ErrorCode::TooLarge, "more devices in a list than the bound"), now);
  resource.ended.reset();
  resource.unknown = resource.forgotten = false;
  PluginResource fresh = listed(reports);
  PluginResource& seen = visible_[name];
  const bool changed = !same(seen, fresh);
  seen = std::move(fresh);
  if (changed) changed_(now);
  resource.stream->next();
}

// A device plugin is not called again: it registers when it is there again.
void DevicePlugins::on_end(const std::string& name, std::uint64_t generation, const Error& error, Time now) {
  Resource& resource = resources_.at(name);
  if (resource.generation != generation) return;
  log(LogLevel::Warning, "a device plugin left",
      {{"node", node_}, {"resource", name}, {"cause", error.message()}});
  resource.stream.reset();
  resource.generation = ++last_generation_;
  resource.ended = now;
  const auto seen = visible_.find(name);
  if (seen == visible_.end()) return;
  seen->second.registered = false;
  for (auto& [id, device] : seen->second.devices) device.allocatable = false;
  changed_(now);
}

void DevicePlugins::make_unknown(const std::string& name, std::string_view why) {
  for (auto& [id, device] : visible_[name].devices) device.health = {Health::Unknown, std::string(why)};
  resources_.at(name).unknown = true;
}

std::optional<Time> DevicePlugins::due(const Resource& resource) const {
  if (!resource.ended || resource.forgotten) return std::nullopt;
  return *resource.ended + (resource.unknown ? kResourceForgottenAfter : timing_.timeout);
}

void DevicePlugins::step(Time now) {
  for (auto& [name, resource] : resources_) {
    const auto at = due(resource);
    if (!at || now < *at) continue;
    if (resource.unknown) {
      visible_[name].devices.clear();
      resource.forgotten = true;
    } else {
      make_unknown(name, left_text(name));
    }
    changed_(now);
  }
}

std::optional<Time> DevicePlugins::next_wake() const {
  std::optional<Time> next;
  for (const auto& [name, resource] : resources_)
    if (const auto at = due(resource); at && (!next || *at < *next)) next = at;
  return next;
}

KeptResources DevicePlugins::kept(Time now) const {
  KeptResources kept;
  for (const auto& [name, seen] : visible_) {
    const Resource& resource = resources_.at(name);
    kept[name] = {resource.forgotten, seen.devices, resource.ended ? now - *resource.ended : Duration()};
  }
  return kept;
}

void DevicePlugins::restore(const KeptResources& kept, std::optional<Duration> passed, Time now) {
  for (const auto& [name, copy] : kept) {
    Resource& resource = resources_[name];
    resource.registration.resource = name;
    resource.forgotten = copy.forgotten;
    resource.ended = now - copy.unheard - passed.value_or(Duration());
    PluginResource& seen = visible_[name];
    seen.devices = copy.devices;
    for (auto& [id, device] : seen.devices) device.allocatable = false;
    if (!passed)
      make_unknown(name, "the device plugin of " + name + " has not registered since the node agent started");
  }
}

}  // namespace berth::health
