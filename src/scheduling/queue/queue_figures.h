// Why entries entered which queue, as kube-scheduler's metrics count it.
//
// Owner: the SchedulingQueue; a copy is a snapshot. Entries are pods without a group, and groups. Source:
// kube-scheduler 1.37, scheduler_queue_incoming_pods_total: its queues and events.
#pragma once

#include <array>
#include <cstdint>

#include "base/metrics.h"
#include "placement/cluster_events.h"

namespace berth::scheduling {

enum class IncomingQueue : std::uint8_t { Active, Backoff, Unschedulable, Gated };
inline constexpr std::size_t kIncomingQueueCount = 4;

// An event is one of these, or a change of the cluster.
enum class QueueEvent : std::uint8_t { Added, Failed, BackoffOver, TakenEarly, Asked, Swept };
inline constexpr std::size_t kQueueEventCount = 6;

class QueueFigures {
 public:
  void count(IncomingQueue queue, QueueEvent event) { ++at(queue, static_cast<std::size_t>(event)); }
  // `events`: bits of ClusterEvent; the first counts.
  void count_change(IncomingQueue queue, std::uint32_t events);
  void write_metrics(MetricsText& text) const;

 private:
  static constexpr std::size_t kEventCount = kQueueEventCount + placement::kClusterEventCount;
  std::uint64_t& at(IncomingQueue queue, std::size_t event) {
    return counts_[static_cast<std::size_t>(queue)][event];
  }
  std::array<std::array<std::uint64_t, kEventCount>, kIncomingQueueCount> counts_{};
};

}  // namespace berth::scheduling
