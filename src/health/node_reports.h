// The NodeDeviceHealth objects of a cluster, as snapshots by node.
//
// Owner: one loop. A report whose object did not change for kReportSilenceMax, by the reader's clock, says
// Unknown of all its devices: its agent is gone, or cannot write. Agents' clocks are not trusted. Cost:
// O(devices of the node) a changed object, O(nodes) a refresh.
#pragma once

#include "client/view.h"
#include "health/health_feed.h"
#include "health/node_report.h"

namespace berth::health {

class NodeReports {
 public:
  // An object changed; takes effect with the next refresh().
  void note(const client::Delta& delta);
  void refresh(Time now);
  // The snapshot of a node stays the same one while its devices do.
  const std::map<std::string, HealthFeed::Snapshot>& all() const { return shown_; }
  // When refresh() finds the next silence.
  std::optional<Time> next_wake() const;

 private:
  struct Report {
    HealthFeed::Snapshot told;
    Time seen_at;
    bool silent = false;
  };
  std::map<std::string, api::RawPtr> pending_;  // null: gone
  std::map<std::string, Report> reports_;
  std::map<std::string, HealthFeed::Snapshot> shown_;
};

}  // namespace berth::health
