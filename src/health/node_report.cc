#include "health/node_report.h"

#include <algorithm>

#include "api/types/node_device_health.h"

namespace berth::health {
namespace {

// What a device takes beside its names and message: member names, health, time, quotes.
constexpr std::size_t kEntryBytes = 160;

struct Entry {
  const std::string* driver;
  const DeviceName* name;
  const ReportedHealth* reported;
};

// Those that fit, by name.
std::vector<Entry> chosen_entries(const ReportedDevices& devices) {
  std::vector<Entry> entries;
  for (const auto& [driver, names] : devices)
    for (const auto& [name, reported] : names) entries.push_back({&driver, &name, &reported});
  const auto by_name = [](const Entry& a, const Entry& b) {
    return std::tie(*a.driver, *a.name) < std::tie(*b.driver, *b.name);
  };
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.reported->health.health > b.reported->health.health;
  });
  std::size_t bytes = 0, count = 0;
  for (; count < entries.size() && count < api::kNodeHealthDevicesMax; ++count) {
    const Entry& entry = entries[count];
    bytes += entry.driver->size() + entry.name->pool.size() + entry.name->device.size() + kEntryBytes +
             std::min(entry.reported->health.message.size(), api::kNodeHealthMessageBytesMax);
    if (bytes > kNodeReportBytesMax) break;
  }
  entries.resize(count);
  std::sort(entries.begin(), entries.end(), by_name);
  return entries;
}

Json entry_json(const Entry& entry) {
  const auto& [health, since] = *entry.reported;
  Json json = Json::object({{"driver", *entry.driver},
                            {"pool", entry.name->pool},
                            {"device", entry.name->device},
                            {"health", name_of(health.health)}});
  if (!health.message.empty())
    json["message"] = bounded_message(health.message, api::kNodeHealthMessageBytesMax);
  if (since.is_set()) json["since"] = format_time(since);
  return json;
}

}  // namespace

SilentDrivers silent_drivers(const HealthSnapshot& health) {
  SilentDrivers silent;
  for (const auto& [name, driver] : health.drivers) {
    if (silent.size() >= api::kNodeHealthDriversMax) break;
    if (driver.stream == StreamState::Unsupported) silent.emplace(name, "NoHealthService");
    if (driver.stream == StreamState::Yielded) silent.emplace(name, "LeftToKubelet");
  }
  return silent;
}

Json report_spec(const ReportedDevices& devices, const SilentDrivers& silent) {
  std::int64_t counts[3] = {}, all = 0;
  for (const auto& [driver, names] : devices)
    for (const auto& [name, reported] : names) {
      ++counts[static_cast<std::size_t>(reported.health.health)];
      ++all;
    }
  Json list = Json::array();
  for (const Entry& entry : chosen_entries(devices)) list.as_array().push_back(entry_json(entry));
  Json quiet = Json::array();
  for (const auto& [driver, reason] : silent)
    quiet.as_array().push_back(Json::object({{"driver", driver}, {"reason", reason}}));
  const std::int64_t omitted = all - static_cast<std::int64_t>(list.as_array().size());
  return Json::object({{"healthy", counts[static_cast<std::size_t>(Health::Healthy)]},
                       {"unhealthy", counts[static_cast<std::size_t>(Health::Unhealthy)]},
                       {"unknown", counts[static_cast<std::size_t>(Health::Unknown)]},
                       {"omitted", omitted > 0 ? Json(omitted) : Json()},
                       {"devices", list.as_array().empty() ? Json() : std::move(list)},
                       {"silentDrivers", quiet.as_array().empty() ? Json() : std::move(quiet)}});
}

ReportedDevices read_report(const Json& object) {
  ReportedDevices devices;
  std::size_t count = 0;
  for (const Json& entry : object.part("spec").items_at("devices")) {
    if (++count > api::kNodeHealthDevicesMax) break;
    const std::optional<Health> health = health_named(entry.string_at("health"));
    DeviceName name{std::string(entry.string_at("pool")), std::string(entry.string_at("device"))};
    if (!health || entry.string_at("driver").empty() || !is_reportable(name)) continue;
    const Result<Time> since = parse_time(entry.string_at("since"));
    devices[std::string(entry.string_at("driver"))].insert_or_assign(
        std::move(name), ReportedHealth{{*health, bounded_message(std::string(entry.string_at("message")))},
                                        since ? *since : Time()});
  }
  return devices;
}

std::shared_ptr<const HealthSnapshot> snapshot_of(const ReportedDevices& devices) {
  auto snapshot = std::make_shared<HealthSnapshot>();
  for (const auto& [driver, names] : devices) {
    DriverHealth& health = snapshot->drivers[driver];
    health.stream = StreamState::Up;
    for (const auto& [name, reported] : names) health.devices.emplace(name, reported.health);
  }
  return snapshot;
}

std::shared_ptr<const HealthSnapshot> forgotten(const HealthSnapshot& health, const std::string& why) {
  auto snapshot = std::make_shared<HealthSnapshot>();
  for (const auto& [driver, known] : health.drivers)
    for (const auto& [name, device] : known.devices)
      snapshot->drivers[driver].devices.emplace(name, DeviceHealth{Health::Unknown, why});
  return snapshot;
}

}  // namespace berth::health
