// Counters of a control plane's loops as metrics. Kubernetes' own names where Kubernetes has one.
#pragma once

#include "base/metrics.h"
#include "binding/binder.h"
#include "client/refused_requests.h"
#include "client/view.h"
#include "plane/control_plane.h"
#include "scheduling/decision_log.h"
#include "scheduling/queue/queue_figures.h"

namespace berth::cli {

inline constexpr std::size_t kBindPhaseCount = 3;
inline constexpr std::size_t kBindStepCount = 9;

// Plain numbers, copied on a loop's thread.
struct SchedulerFigures {
  std::array<std::uint64_t, scheduling::kDecisionResultCount> attempts{};  // by DecisionResult
  std::uint64_t repairs = 0;                                               // of the model
  std::uint64_t flush_found = 0;
  scheduling::PreemptionFigures preemptions;
  scheduling::DefragmentationFigures defragmentation;
  scheduling::QueueFigures queue;
  Histogram pod_attempts{scheduling::kAttemptBounds};
  std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0;
};
struct BinderFigures {
  std::array<std::array<std::uint64_t, kBindStepCount>, kBindPhaseCount> requests{};  // by phase, step
  binding::PreBindMetrics pre_binds;
  binding::TermDoubts term_doubts;
};

SchedulerFigures figures_of(const scheduling::SchedulingQueue& queue,
                            const scheduling::DecisionCounts& decisions);
// Cost: visits every BindRequest.
BinderFigures figures_of(const client::View& view, const binding::Binder& binder);

// The first of scheduler_names is the profile.
void write_metrics(const SchedulerFigures& figures, const std::string& profile, MetricsText& text);
void write_metrics(const BinderFigures& figures, MetricsText& text);
void write_metrics(const client::RefusedRequests& refusals, MetricsText& text);
struct LoopFigures {
  std::string loop;
  engine::EngineCounters counters;
};
void write_metrics(const std::vector<LoopFigures>& loops, MetricsText& text);

}  // namespace berth::cli
