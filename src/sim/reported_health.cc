#include "sim/reported_health.h"

#include <algorithm>

namespace berth::sim {

void ReportedHealth::publish(const std::string& node, health::HealthCache::Visible visible) {
  if (visible == health::HealthCache::Visible::Changed) feed_.publish(node, nodes_.at(node).snapshot());
}

void ReportedHealth::report(const std::string& node, const std::string& driver,
                            const health::Reports& reports, Time now) {
  publish(node, nodes_[node].update(driver, reports, now));
}

void ReportedHealth::note_stream(const std::string& node, const std::string& driver,
                                 health::StreamState stream, Time now) {
  publish(node, nodes_[node].note_stream(driver, stream, now));
}

void ReportedHealth::expire(Time now) {
  for (auto& [node, cache] : nodes_) publish(node, cache.expire(now));
}

std::optional<Time> ReportedHealth::next_deadline() const {
  std::optional<Time> next;
  for (const auto& [node, cache] : nodes_)
    if (const std::optional<Time> due = cache.next_deadline(); due && (!next || *due < *next)) next = due;
  return next;
}

}  // namespace berth::sim
