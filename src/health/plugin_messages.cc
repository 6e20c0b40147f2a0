#include "health/plugin_messages.h"

#include "device_plugin_v1beta1.pb.h"
#include "dra_health_v1.pb.h"
#include "node_health.pb.h"

namespace berth::health {
namespace {

Health health_of(v1::HealthStatus status) {
  if (status == v1::HEALTHY) return Health::Healthy;
  return status == v1::UNHEALTHY ? Health::Unhealthy : Health::Unknown;
}

std::optional<Reports> list_in(const std::string& bytes) {
  v1beta1::ListAndWatchResponse message;
  if (!message.ParseFromString(bytes)) return std::nullopt;
  Reports reports;
  for (const auto& device : message.devices()) {
    const bool healthy = device.health() == "Healthy";
    DeviceReport report{{"", device.id()}, {healthy ? Health::Healthy : Health::Unhealthy, ""}};
    for (const auto& node : device.topology().nodes()) report.numa_nodes.push_back(node.id());
    reports.push_back(std::move(report));
  }
  return reports;
}

std::optional<Reports> kep_reports_in(const std::string& bytes) {
  berth::kep4680::WatchResourcesResponse message;
  if (!message.ParseFromString(bytes)) return std::nullopt;
  Reports reports;
  for (const auto& device : message.devices()) {
    const std::string& text = device.health_status();
    const Health health = text == "Healthy"     ? Health::Healthy
                          : text == "Unhealthy" ? Health::Unhealthy
                                                : Health::Unknown;
    reports.push_back(
        {{device.pool_name(), device.device_name()}, {health, ""}, device.health_check_timeout_seconds()});
  }
  return reports;
}

}  // namespace

std::optional<Reports> reports_in(const std::string& bytes, HealthService service) {
  if (service == HealthService::DevicePlugin) return list_in(bytes);
  if (service == HealthService::Kep) return kep_reports_in(bytes);
  v1::NodeWatchResourcesResponse message;
  if (!message.ParseFromString(bytes)) return std::nullopt;
  Reports reports;
  for (const auto& device : message.devices())
    reports.push_back({{device.device().pool_name(), device.device().device_name()},
                       {health_of(device.health()), device.message()},
                       device.health_check_timeout_seconds()});
  return reports;
}

}  // namespace berth::health
