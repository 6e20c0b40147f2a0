#include "scheduling/preemption_figures.h"

#include "api/metric_table.h"

namespace berth::scheduling {
namespace {

using api::family_of;
using api::Metric;
using placement::Preemption;

// 1, doubled up to this many bounds.
template <std::size_t kBounds>
constexpr auto kDoubled = [] {
  std::array<double, kBounds> bounds{};
  double bound = 1;
  for (double& one : bounds) {
    one = bound;
    bound *= 2;
  }
  return bounds;
}();

constexpr std::string_view kPreemptors[] = {"pod", "podgroup"};
constexpr std::string_view kStatuses[] = {"Success", "Unschedulable", "UnschedulableAndUnresolvable"};

// A row of kStatuses.
std::size_t status_of(const placement::Refusal& refusal) {
  if (refusal.preemption == Preemption::Found || refusal.preemption == Preemption::Waiting) return 0;
  const bool nobody = refusal.preemption == Preemption::NoVictims &&
                      (!refusal.searched || refusal.searched->without_victims > 0);
  return nobody ? 2 : 1;
}

}  // namespace

std::array<Histogram, PreemptionFigures::kPreemptorCount> PreemptionFigures::make_victims() {
  return {Histogram(kDoubled<7>), Histogram(kDoubled<11>)};
}

std::array<Histogram, PreemptionFigures::kPreemptorCount> PreemptionFigures::make_groups() {
  return {Histogram(kDoubled<11>), Histogram(kDoubled<11>)};
}

void PreemptionFigures::count(const placement::Refusal& refusal) {
  const std::size_t preemptor = refusal.group ? 1 : 0;
  const bool tried = refusal.result == placement::DecisionResult::Unschedulable &&
                     refusal.preemption != Preemption::NotTried;
  if (!tried) return;
  if (refusal.group)
    ++group_attempts_[status_of(refusal)];
  else
    ++pod_attempts_;
  if (!refusal.searched || refusal.searched->victims.empty()) return;
  victims_[preemptor].observe(static_cast<double>(refusal.searched->victims.size()));
  if (refusal.searched->groups > 0) groups_[preemptor].observe(static_cast<double>(refusal.searched->groups));
  refused_[preemptor] += refusal.searched->refused;
}

void PreemptionFigures::write_metrics(MetricsText& text) const {
  text.single(family_of(Metric::PreemptionAttempts), pod_attempts_);
  text.family(family_of(Metric::PreemptionVictims));
  text.histogram({}, victims_[0]);
  text.family(family_of(Metric::GroupPreemptionAttempts));
  for (std::size_t i = 0; i < kStatusCount; ++i) text.sample({kStatuses[i]}, group_attempts_[i]);
  text.family(family_of(Metric::GroupPreemptionVictims));
  text.histogram({}, victims_[1]);
  text.family(family_of(Metric::PreemptionGroups));
  for (std::size_t i = 0; i < kPreemptorCount; ++i) text.histogram({kPreemptors[i]}, groups_[i]);
  text.family(family_of(Metric::PreemptionBudgetViolations));
  for (std::size_t i = 0; i < kPreemptorCount; ++i) text.sample({kPreemptors[i]}, refused_[i]);
}

}  // namespace berth::scheduling
