// The known health of one node's devices, and when it becomes stale.
//
// Owner: one thread. Pure: time is passed in (monotonic, never earlier than in the previous call). Every
// report has a deadline; a device without a report until then is Unknown until its next report. A change is a
// difference that readers see, so a recovery after a silence is one. Cost: O(log n) a reported device and an
// expired deadline. Source: KEP-4680, kubelet's healthinfo cache.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "health/health.h"
#include "health/plugin_devices.h"

namespace berth::health {

inline constexpr Duration kHealthTimeoutDefault = Duration::seconds(30);
inline constexpr Duration kHealthTimeoutMin = Duration::seconds(1);
inline constexpr Duration kHealthTimeoutMax = Duration::minutes(24 * 60);
inline constexpr std::size_t kDevicesPerDriverMax = 8192;
// A device without a report for this many timeouts, and at least for kForgetAfterMin, is dropped.
inline constexpr std::int64_t kForgetAfterTimeouts = 10;
inline constexpr Duration kForgetAfterMin = Duration::minutes(60);

// What a checkpoint keeps of a device and of a driver (node_checkpoint.h).
struct KeptDevice {
  DeviceName name;
  DeviceHealth health;
  Duration timeout;
  Duration age;  // since its newest report
};
struct KeptDriver {
  bool unsupported = false;  // its newest instance offered no health service
  std::vector<KeptDevice> devices;
};
using KeptDrivers = std::map<std::string, KeptDriver, std::less<>>;

// Timing that a node's agent may configure.
struct HealthTiming {
  Duration timeout = kHealthTimeoutDefault;           // of reports without their own
  Duration stream_retry_base = Duration::seconds(5);  // before a broken stream is reopened, then doubled
  Duration stream_retry_max = Duration::seconds(30);
};

// The state of a driver's reports; the message of a stale device names it.
enum class StreamState : std::uint8_t {
  Up,
  Down,         // broken, being reopened
  Gone,         // no instance of the driver is registered
  Unsupported,  // the newest instance offers no health service
  Yielded,      // closed for a while: it took reports from the kubelet's
};

struct DriverHealth {
  StreamState stream = StreamState::Down;
  std::map<DeviceName, DeviceHealth> devices;
};

// What readers see of a node; immutable.
struct HealthSnapshot {
  std::map<std::string, DriverHealth, std::less<>> drivers;
  PluginResources resources;  // of device plugins
  HeldByContainer held;
  std::map<std::string, std::string> refused;  // by pod UID: why a container lacks devices of a plugin
  ClaimDrivers claim_drivers;
  std::shared_ptr<const ClaimInfos> claims;       // null: none
  std::map<std::string, std::string> unprepared;  // by pod UID: why a claim is not prepared

  // Unknown, with a message that says why, for a device without a report.
  DeviceHealth of(std::string_view driver, const DeviceName& name) const;
  // The same for a device of a device plugin.
  DeviceHealth of_resource(std::string_view resource, std::string_view id) const;
};

// When a report becomes stale: `otherwise` for 0 and less, else clamped to the bounds.
Duration clamped_timeout(std::int64_t seconds, Duration otherwise = kHealthTimeoutDefault);

class HealthCache {
 public:
  enum class Visible { Same, Changed };

  explicit HealthCache(Duration timeout = kHealthTimeoutDefault) : timeout_(timeout) {}

  // Applies one message; the later of two reports on one device wins. Reports on devices beyond
  // kDevicesPerDriverMax are dropped and counted.
  Visible update(std::string_view driver, const Reports& reports, Time now);
  // Readers see a change only for a new driver, one that becomes Unsupported, whose reports are dropped at
  // once, and one that becomes Yielded. In every other state than Unsupported reports age.
  Visible note_stream(std::string_view driver, StreamState stream, Time now);
  // Whether one of the devices was silent beyond its deadline, after a report at `since` or later.
  bool ends_silence(std::string_view driver, const Reports& reports, Time since, Time now) const;
  // Marks overdue devices as stale.
  Visible expire(Time now);

  KeptDrivers kept(Time now) const;
  // Called once, on an empty cache. `passed`: the time since `kept` was made; nothing when it is not known
  // (another boot, a clock that went backwards). Then no report counts, and every device is Unknown until its
  // next one. Otherwise devices are shown as before until the deadline that they had.
  void restore(const KeptDrivers& kept, std::optional<Duration> passed, Time now);
  // When expire() must be called next.
  std::optional<Time> next_deadline() const;

  std::shared_ptr<const HealthSnapshot> snapshot() const;
  std::size_t refused_devices() const { return refused_; }
  // Devices taken in since the start, restored ones left out.
  std::uint64_t devices_added() const { return added_; }

 private:
  struct TrackedDevice {
    Time reported;
    Duration timeout;
    bool stale = false;
  };
  using Entries = std::map<DeviceName, TrackedDevice>;
  struct Driver {
    Entries entries;
    DriverHealth visible;
  };
  struct Due {
    Time at;
    std::string driver;
    DeviceName name;
    friend auto operator<=>(const Due&, const Due&) = default;
  };
  static Time due_at(const TrackedDevice& entry);
  void restore_device(const std::string& name, Driver& driver, const KeptDevice& device,
                      std::optional<Duration> passed, Time now);
  Visible take(const std::string& name, Driver& driver, const DeviceReport& report, Time now);

  Duration timeout_;  // of reports without their own
  std::map<std::string, Driver, std::less<>> drivers_;
  std::set<Due> due_;  // one per entry: when it becomes stale, then when it is dropped
  std::size_t refused_ = 0;
  std::uint64_t added_ = 0;
};

}  // namespace berth::health
