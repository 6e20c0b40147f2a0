// What came of the searches for victims, as kube-scheduler's metrics count it.
//
// One thread. Source: kube-scheduler 1.37, pkg/scheduler/metrics: the same attempts, buckets and labels.
#pragma once

#include <array>
#include <cstdint>

#include "base/metrics.h"
#include "placement/refusal/refusal.h"

namespace berth::scheduling {

class PreemptionFigures {
 public:
  // Of a pod or a group that was not placed.
  void count(const placement::Refusal& refusal);
  void write_metrics(MetricsText& text) const;

 private:
  // Rows of the tables: a pod or a group as preemptor, and the statuses that kube-scheduler's plugin returns.
  static constexpr std::size_t kPreemptorCount = 2, kStatusCount = 3;

  std::uint64_t pod_attempts_ = 0;
  std::array<std::uint64_t, kStatusCount> group_attempts_{};
  std::array<std::uint64_t, kPreemptorCount> refused_{};  // evictions, by budgets
  std::array<Histogram, kPreemptorCount> victims_ = make_victims();
  std::array<Histogram, kPreemptorCount> groups_ = make_groups();

  static std::array<Histogram, kPreemptorCount> make_victims();
  static std::array<Histogram, kPreemptorCount> make_groups();
};

}  // namespace berth::scheduling
