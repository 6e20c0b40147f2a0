// What is known of the health of one node's devices, and when it stops being known.
//
// Owner: one thread. Pure: time is passed in (monotonic, never earlier than in the call before). Every report
// carries a deadline; a device silent past it is Unknown until it is reported again. What counts as a change
// is what readers see, so a recovery after a silence is one. Cost: O(log n) a reported device and an expired
// deadline. Source: KEP-4680, kubelet's healthinfo cache.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "health/health.h"

namespace berth::health {

inline constexpr Duration kHealthTimeoutDefault = Duration::seconds(30);
inline constexpr Duration kHealthTimeoutMin = Duration::seconds(1);
inline constexpr Duration kHealthTimeoutMax = Duration::minutes(24 * 60);
inline constexpr std::size_t kDevicesPerDriverMax = 8192;
// A device that was silent for this many timeouts, and at least for kForgetAfterMin, is dropped.
inline constexpr std::int64_t kForgetAfterTimeouts = 10;
inline constexpr Duration kForgetAfterMin = Duration::minutes(60);

// What a node's agent may be told otherwise.
struct HealthTiming {
  Duration timeout = kHealthTimeoutDefault;           // of reports that name none
  Duration stream_retry_base = Duration::seconds(5);  // before a broken stream is opened again, then doubled
  Duration stream_retry_max = Duration::seconds(30);
};

// How a driver's reports reach us; a stale device's message says so.
enum class StreamState : std::uint8_t {
  Up,
  Down,         // broken, being opened again
  Gone,         // no instance of the driver is registered
  Unsupported,  // the newest instance offers no health service
};

struct DriverHealth {
  StreamState stream = StreamState::Down;
  std::map<DeviceName, DeviceHealth> devices;
};

// What readers see of a node; immutable.
struct HealthSnapshot {
  std::map<std::string, DriverHealth, std::less<>> drivers;

  // Unknown, with a message that says why, for what nobody reported.
  DeviceHealth of(std::string_view driver, const DeviceName& name) const;
};

// The time after which a report is stale: `otherwise` for 0 and less, else between the bounds.
Duration clamped_timeout(std::int64_t seconds, Duration otherwise = kHealthTimeoutDefault);

class HealthCache {
 public:
  enum class Visible { Same, Changed };

  explicit HealthCache(Duration timeout = kHealthTimeoutDefault) : timeout_(timeout) {}

  // Takes in one message; of two reports on one device the later counts. Reports on devices beyond
  // kDevicesPerDriverMax are left out and counted.
  Visible update(std::string_view driver, const Reports& reports, Time now);
  // Readers see a change only where a driver is new, or is now unsupported: then its reports are dropped at
  // once. In every other state they age.
  Visible note_stream(std::string_view driver, StreamState stream, Time now);
  // Makes stale what is due.
  Visible expire(Time now);
  // When expire() has work next.
  std::optional<Time> next_deadline() const;

  std::shared_ptr<const HealthSnapshot> snapshot() const;
  std::size_t refused_devices() const { return refused_; }

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
  Visible take(const std::string& name, Driver& driver, const DeviceReport& report, Time now);

  Duration timeout_;  // of reports that name none
  std::map<std::string, Driver, std::less<>> drivers_;
  std::set<Due> due_;  // one per entry: its staleness, then its end
  std::size_t refused_ = 0;
};

}  // namespace berth::health
