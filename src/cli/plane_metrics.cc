#include "cli/plane_metrics.h"

#include "api/metric_table.h"

namespace berth::cli {
namespace {

using api::family_of;
using api::Metric;

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
                            const scheduling::DecisionCounts& decisions) {
  SchedulerFigures figures;
  for (std::size_t i = 0; i < figures.attempts.size(); ++i)
    figures.attempts[i] = decisions.count(static_cast<scheduling::DecisionResult>(i));
  figures.repairs = decisions.repairs();
  figures.preemptions = decisions.preemptions();
  figures.defragmentation = decisions.defragmentation();
  figures.flush_found = decisions.flush_found();
  figures.pod_attempts = decisions.attempts();
  figures.queue = queue.figures();
  figures.active = queue.active_count();
  figures.backoff = queue.backoff_count();
  figures.unschedulable = queue.unschedulable_count();
  figures.gated = queue.gated_count();
  return figures;
}

BinderFigures figures_of(const client::View& view, const binding::Binder& binder) {
  BinderFigures figures;
  figures.pre_binds = binder.metrics();
  figures.term_doubts = binder.term_doubts();
  for (const auto& [key, request] : view.bind_requests.all())
    ++figures.requests[static_cast<std::size_t>(request->phase)][static_cast<std::size_t>(request->step)];
  return figures;
}

void write_metrics(const SchedulerFigures& figures, const std::string& profile, MetricsText& text) {
  text.family(family_of(Metric::ScheduleAttempts));
  for (std::size_t i = 0; i < kResults.size(); ++i) text.sample({kResults[i], profile}, figures.attempts[i]);
  text.single(family_of(Metric::DecisionsUndone),
              figures.attempts[static_cast<std::size_t>(scheduling::DecisionResult::Undone)]);
  figures.preemptions.write_metrics(text);
  figures.defragmentation.write_metrics(text);
  text.single(family_of(Metric::ModelRepairs), figures.repairs);
  text.family(family_of(Metric::SchedulingAttempts));
  text.histogram({}, figures.pod_attempts);
  text.family(family_of(Metric::PendingPods));
  text.sample({"active"}, figures.active);
  text.sample({"backoff"}, figures.backoff);
  text.sample({"gated"}, figures.gated);
  text.sample({"unschedulable"}, figures.unschedulable);
  figures.queue.write_metrics(text);
  text.single(family_of(Metric::FlushFound), figures.flush_found);
}

void write_metrics(const BinderFigures& figures, MetricsText& text) {
  text.family(family_of(Metric::BindRequests));
  for (std::size_t phase = 0; phase < kBindPhaseCount; ++phase)
    for (std::size_t step = 0; step < kBindStepCount; ++step)
      if (const std::uint64_t count = figures.requests[phase][step])
        text.sample({api::name_of(static_cast<api::BindPhase>(phase)),
                     api::name_of(static_cast<api::BindStep>(step))},
                    count);
  text.family(family_of(Metric::TermDoubts));
  for (std::size_t i = 0; i < binding::kTermDoubtNames.size(); ++i)
    text.sample({std::string(binding::kTermDoubtNames[i])}, figures.term_doubts.counts[i]);
  figures.pre_binds.write_metrics(text);
}

void write_metrics(const client::RefusedRequests& refusals, MetricsText& text) {
  text.family(family_of(Metric::RefusedRequests));
  for (const auto& [kind, count] : refusals.counts())
    text.sample({kind.first, std::to_string(kind.second)}, count);
}

void write_metrics(const std::vector<LoopFigures>& loops, MetricsText& text) {
  text.family(family_of(Metric::DeciderRuns));
  for (const LoopFigures& loop : loops)
    for (const engine::DeciderCounters& decider : loop.counters.deciders)
      text.sample({decider.name}, decider.runs);
  text.family(family_of(Metric::DeciderFailedRuns));
  for (const LoopFigures& loop : loops)
    for (const engine::DeciderCounters& decider : loop.counters.deciders)
      text.sample({decider.name}, decider.failed_runs);
  text.family(family_of(Metric::Writes));
  for (const LoopFigures& loop : loops)
    for (const WriteRow& row : kWriteRows)
      text.sample({loop.loop, row.result}, loop.counters.writes.*row.count);
  text.family(family_of(Metric::EventsDropped));
  for (const LoopFigures& loop : loops) text.sample({loop.loop}, loop.counters.events.dropped);
  text.family(family_of(Metric::KeysWaiting));
  for (const LoopFigures& loop : loops) text.sample({loop.loop}, loop.counters.keys_waiting);
}

}  // namespace berth::cli
