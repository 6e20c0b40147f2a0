// Drivers' reports of device health in virtual time: the node agents of a simulated cluster, without sockets.
//
// Owner: one world, one thread. Keeps a HealthCache a node, like an agent, and publishes changes.
#pragma once

#include <map>
#include <string>

#include "health/health_feed.h"

namespace berth::sim {

class ReportedHealth {
 public:
  health::HealthFeed& feed() { return feed_; }

  // One message of a driver, at a moment of virtual time.
  void report(const std::string& node, const std::string& driver, const health::Reports& reports, Time now);
  void note_stream(const std::string& node, const std::string& driver, health::StreamState stream, Time now);
  // Marks overdue devices as stale.
  void expire(Time now);
  // When expire() must be called next.
  std::optional<Time> next_deadline() const;

 private:
  void publish(const std::string& node, health::HealthCache::Visible visible);

  health::HealthFeed feed_;
  std::map<std::string, health::HealthCache> nodes_;
};

}  // namespace berth::sim
