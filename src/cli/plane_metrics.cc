#include "cli/plane_metrics.h"

namespace berth::cli {
namespace {

static_assert(static_cast<std::size_t>(api::BindPhase::Failed) + 1 == kBindPhaseCount);
static_assert(static_cast<std::size_t>(api::BindStep::RolledBack) + 1 == kBindStepCount);

// By scheduling::DecisionResult, in kube-scheduler's words; the last one is no attempt.
constexpr std::array<std::string_view, scheduling::kDecisionResultCount - 1> kResults = {
    "scheduled", "unschedulable", "error"};

struct WriteRow {
  std::string_view result;
  std::uint64_t engine::EffectExecutorCounters::* count;
};
constexpr WriteRow kWriteRows[] = {
    {"accepted", &engine::EffectExecutorCounters::accepted},
    {"conflict", &engine::EffectExecutorCounters::conflicts},
    {"lost", &engine::EffectExecutorCounters::lost},
    {"refused", &engine::EffectExecutorCounters::refused},
    {"repeated", &engine::EffectExecutorCounters::repeated},
};

}  // namespace

SchedulerFigures figures_of(const scheduling::SchedulingQueue& queue,
                            const scheduling::DecisionRing& decisions) {
  SchedulerFigures figures;
  for (std::size_t i = 0; i < figures.attempts.size(); ++i)
    figures.attempts[i] = decisions.count(static_cast<scheduling::DecisionResult>(i));
  figures.repairs = decisions.repairs();
  figures.active = queue.active_count();
  figures.backoff = queue.backoff_count();
  figures.unschedulable = queue.unschedulable_count();
  figures.gated = queue.gated_count();
  return figures;
}

BinderFigures figures_of(const client::View& view, const binding::Binder& binder) {
  BinderFigures figures;
  figures.pre_binds = binder.metrics();
  for (const auto& [key, request] : view.bind_requests.all())
    ++figures.requests[static_cast<std::size_t>(request->phase)][static_cast<std::size_t>(request->step)];
  return figures;
}

void write_metrics(const SchedulerFigures& figures, const std::string& profile, MetricsText& text) {
  text.family("scheduler_schedule_attempts_total", MetricType::Counter,
              "Attempts to place a pod or a group, by what came of them.");
  for (std::size_t i = 0; i < kResults.size(); ++i)
    text.sample({{"result", kResults[i]}, {"profile", profile}}, figures.attempts[i]);
  text.single("berth_decisions_undone_total", MetricType::Counter,
              "Decisions taken back as their writes failed.",
              figures.attempts[static_cast<std::size_t>(scheduling::DecisionResult::Undone)]);
  text.single("berth_model_repairs_total", MetricType::Counter,
              "Rows of the scheduler's model that differed from the live objects and were made anew.",
              figures.repairs);
  text.family("scheduler_pending_pods", MetricType::Gauge, "Pods and groups that wait, by queue.");
  text.sample({{"queue", "active"}}, figures.active);
  text.sample({{"queue", "backoff"}}, figures.backoff);
  text.sample({{"queue", "gated"}}, figures.gated);
  text.sample({{"queue", "unschedulable"}}, figures.unschedulable);
}

void write_metrics(const BinderFigures& figures, MetricsText& text) {
  text.family("berth_bind_requests", MetricType::Gauge, "BindRequests, by phase and the step they are at.");
  for (std::size_t phase = 0; phase < kBindPhaseCount; ++phase)
    for (std::size_t step = 0; step < kBindStepCount; ++step)
      if (const std::uint64_t count = figures.requests[phase][step])
        text.sample({{"phase", api::name_of(static_cast<api::BindPhase>(phase))},
                     {"step", api::name_of(static_cast<api::BindStep>(step))}},
                    count);
  figures.pre_binds.write_metrics(text);
}

void write_metrics(const std::vector<LoopFigures>& loops, MetricsText& text) {
  text.family("berth_decider_runs_total", MetricType::Counter, "Runs of deciders.");
  for (const LoopFigures& loop : loops)
    for (const engine::DeciderCounters& decider : loop.counters.deciders)
      text.sample({{"decider", decider.name}}, decider.runs);
  text.family("berth_decider_failed_runs_total", MetricType::Counter,
              "Runs whose writes were not accepted, or that asked to be repeated.");
  for (const LoopFigures& loop : loops)
    for (const engine::DeciderCounters& decider : loop.counters.deciders)
      text.sample({{"decider", decider.name}}, decider.failed_runs);
  text.family("berth_writes_total", MetricType::Counter, "Writes to the API, by what came of them.");
  for (const LoopFigures& loop : loops)
    for (const WriteRow& row : kWriteRows)
      text.sample({{"loop", loop.loop}, {"result", row.result}}, loop.counters.writes.*row.count);
  text.family("berth_events_dropped_total", MetricType::Counter, "Events that a bound kept back.");
  for (const LoopFigures& loop : loops) text.sample({{"loop", loop.loop}}, loop.counters.events.dropped);
  text.family("workqueue_depth", MetricType::Gauge, "Keys that wait for a run.");
  for (const LoopFigures& loop : loops) text.sample({{"name", loop.loop}}, loop.counters.keys_waiting);
}

}  // namespace berth::cli
