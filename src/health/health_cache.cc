#include "health/health_cache.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::health {
namespace {

std::string silence_text(std::string_view driver, StreamState stream, Duration timeout) {
  std::string text = "no health report for more than " + std::to_string(timeout.whole_seconds()) + "s";
  if (stream == StreamState::Down)
    text.append(": the health stream of driver ").append(driver).append(" is down");
  if (stream == StreamState::Gone)
    text.append(": driver ").append(driver).append(" is not registered any more");
  if (stream == StreamState::Yielded)
    text.append(": the health stream of driver ").append(driver).append(" is left to the node's kubelet");
  return text;
}

Duration forget_after(Duration timeout) {
  return std::max(kForgetAfterMin, timeout * kForgetAfterTimeouts);
}

}  // namespace

Duration clamped_timeout(std::int64_t seconds, Duration otherwise) {
  if (seconds <= 0) return otherwise;
  const std::int64_t longest = kHealthTimeoutMax.whole_seconds();
  return std::max(kHealthTimeoutMin, Duration::seconds(std::min(seconds, longest)));
}

DeviceHealth HealthSnapshot::of(std::string_view driver, const DeviceName& name) const {
  const auto found = drivers.find(driver);
  if (found == drivers.end())
    return {Health::Unknown,
            bounded_message("no plugin of driver " + std::string(driver) + " is registered")};
  const auto device = found->second.devices.find(name);
  if (device != found->second.devices.end()) return device->second;
  const bool unsupported = found->second.stream == StreamState::Unsupported;
  return {Health::Unknown, bounded_message("driver " + std::string(driver) +
                                           (unsupported ? " offers no health service"
                                                        : " has not reported the health of this device"))};
}

DeviceHealth HealthSnapshot::of_resource(std::string_view resource, std::string_view id) const {
  const auto found = resources.find(resource);
  if (found == resources.end())
    return {Health::Unknown,
            bounded_message("no device plugin of " + std::string(resource) + " is registered")};
  const auto device = found->second.devices.find(id);
  if (device != found->second.devices.end()) return device->second.health;
  return {Health::Unknown, bounded_message("the device plugin of " + std::string(resource) +
                                           (found->second.registered ? " does not list this device any more"
                                                                     : " is not registered any more"))};
}

// Stale strictly after the timeout: a report exactly at the deadline keeps the device known.
Time HealthCache::due_at(const TrackedDevice& entry) {
  const Duration span = entry.stale ? forget_after(entry.timeout) : entry.timeout;
  return entry.reported + span + Duration::micros(1);
}

HealthCache::Visible HealthCache::take(const std::string& name, Driver& driver, const DeviceReport& report,
                                       Time now) {
  const auto [at, is_new] = driver.entries.try_emplace(report.name);
  if (is_new)
    ++added_;
  else
    due_.erase({due_at(at->second), name, report.name});
  at->second = {now, clamped_timeout(report.timeout_s, timeout_), false};
  due_.insert({due_at(at->second), name, report.name});

  DeviceHealth health{report.health.health, bounded_message(report.health.message)};
  const auto [seen, unseen] = driver.visible.devices.try_emplace(report.name);
  if (!unseen && seen->second == health) return Visible::Same;
  seen->second = std::move(health);
  return Visible::Changed;
}

HealthCache::Visible HealthCache::update(std::string_view driver, const Reports& reports, Time now) {
  Visible visible = note_stream(driver, StreamState::Up, now);
  if (expire(now) == Visible::Changed) visible = Visible::Changed;
  const auto found = drivers_.find(driver);
  for (const DeviceReport& report : reports) {
    const bool full = found->second.entries.size() >= kDevicesPerDriverMax;
    if (full && found->second.entries.count(report.name) == 0) {
      ++refused_;
      continue;
    }
    if (take(found->first, found->second, report, now) == Visible::Changed) visible = Visible::Changed;
  }
  return visible;
}

HealthCache::Visible HealthCache::note_stream(std::string_view driver, StreamState stream, Time now) {
  Visible visible = expire(now);
  auto found = drivers_.find(driver);
  if (found == drivers_.end()) {
    found = drivers_.try_emplace(std::string(driver)).first;
    visible = Visible::Changed;
  }
  DriverHealth& seen = found->second.visible;
  const bool was_unsupported = seen.stream == StreamState::Unsupported;
  const bool unsupported = stream == StreamState::Unsupported;
  const bool was_yielded = seen.stream == StreamState::Yielded;
  seen.stream = stream;
  if (was_unsupported != unsupported || was_yielded != (stream == StreamState::Yielded))
    visible = Visible::Changed;
  if (!unsupported) return visible;
  for (const auto& [name, entry] : found->second.entries) due_.erase({due_at(entry), found->first, name});
  found->second.entries.clear();
  seen.devices.clear();
  return visible;
}

bool HealthCache::ends_silence(std::string_view driver, const Reports& reports, Time since, Time now) const {
  const auto found = drivers_.find(driver);
  if (found == drivers_.end()) return false;
  const Entries& entries = found->second.entries;
  return std::any_of(reports.begin(), reports.end(), [&](const DeviceReport& report) {
    const auto entry = entries.find(report.name);
    return entry != entries.end() && entry->second.reported >= since &&
           (entry->second.stale || due_at(entry->second) <= now);
  });
}

HealthCache::Visible HealthCache::expire(Time now) {
  Visible visible = Visible::Same;
  while (!due_.empty() && due_.begin()->at <= now) {
    const Due due = due_.extract(due_.begin()).value();
    const auto found = drivers_.find(due.driver);
    BERTH_ASSERT(found != drivers_.end(), "a deadline has a driver");
    Driver& driver = found->second;
    TrackedDevice& entry = driver.entries.at(due.name);
    DeviceHealth& seen = driver.visible.devices.at(due.name);
    visible = Visible::Changed;
    if (entry.stale) {
      driver.entries.erase(due.name);
      driver.visible.devices.erase(due.name);
      continue;
    }
    entry.stale = true;
    seen = {Health::Unknown, silence_text(due.driver, driver.visible.stream, entry.timeout)};
    due_.insert({due_at(entry), due.driver, due.name});
  }
  return visible;
}

KeptDrivers HealthCache::kept(Time now) const {
  KeptDrivers kept;
  for (const auto& [name, driver] : drivers_) {
    KeptDriver& copy = kept[name];
    copy.unsupported = driver.visible.stream == StreamState::Unsupported;
    copy.devices.reserve(driver.entries.size());
    for (const auto& [device, entry] : driver.entries)
      copy.devices.push_back(
          {device, driver.visible.devices.at(device), entry.timeout, now - entry.reported});
  }
  return kept;
}

void HealthCache::restore_device(const std::string& name, Driver& driver, const KeptDevice& device,
                                 std::optional<Duration> passed, Time now) {
  TrackedDevice entry{now, device.timeout, true};
  DeviceHealth seen{Health::Unknown, "no health report since the node agent started"};
  if (passed) {
    const Duration age = device.age + *passed;
    if (age > forget_after(device.timeout)) return;
    entry.reported = now - age;
    entry.stale = age > device.timeout;
    if (entry.stale)
      seen.message = silence_text(name, driver.visible.stream, device.timeout);
    else
      seen = device.health;
  }
  if (!driver.entries.try_emplace(device.name, entry).second) return;
  driver.visible.devices.emplace(device.name, std::move(seen));
  due_.insert({due_at(entry), name, device.name});
}

void HealthCache::restore(const KeptDrivers& kept, std::optional<Duration> passed, Time now) {
  BERTH_ASSERT(drivers_.empty(), "a cache is restored before its first report");
  for (const auto& [name, copy] : kept) {
    Driver& driver = drivers_[name];
    driver.visible.stream = copy.unsupported ? StreamState::Unsupported : StreamState::Gone;
    for (const KeptDevice& device : copy.devices) restore_device(name, driver, device, passed, now);
  }
}

std::optional<Time> HealthCache::next_deadline() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->at;
}

std::shared_ptr<const HealthSnapshot> HealthCache::snapshot() const {
  auto snapshot = std::make_shared<HealthSnapshot>();
  for (const auto& [name, driver] : drivers_) snapshot->drivers.emplace(name, driver.visible);
  return snapshot;
}

}  // namespace berth::health
