// GangScheduling: when a placement is feasible for a group. PodGroupPodsCount: more members score higher.
#include <algorithm>

#include "base/known_defects.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

constexpr Reason kTooFewFit{"TooFewMembersFit",
                            "GangScheduling",
                            "minCount ({}) cannot be satisfied: {} scheduled, {} remaining",
                            "",
                            "",
                            FilterStatus::Unschedulable};

class GangScheduling final : public PlacementState {
 public:
  Feasibility judge(const Progress& progress) const override {
    if (progress.scheduled >= progress.minimum) return Feasibility::Feasible;
    if (has(KnownDefect::GangsHoldEachOther) && progress.remaining == 0) return Feasibility::Feasible;
    return progress.scheduled + progress.remaining >= progress.minimum ? Feasibility::Wait
                                                                       : Feasibility::Infeasible;
  }
  const Reason& reason() const override { return kTooFewFit; }
};

class PodGroupPodsCount final : public PlacementScorer {
 public:
  std::string_view name() const override { return "PodGroupPodsCount"; }
  bool known_before_placing() const override { return true; }
  void score(const ScoringQuestion& question, std::span<std::int64_t> scores) const override {
    std::int64_t most = 0;
    for (const PlacementResult& one : question.results) most = std::max<std::int64_t>(most, one.scheduled);
    if (most == 0) return;
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] = question.results[i].scheduled * kPlacementScoreMax / most;
  }
};

}  // namespace

std::unique_ptr<PlacementState> gang_scheduling() {
  return std::make_unique<GangScheduling>();
}
std::unique_ptr<PlacementScorer> pod_group_pods_count() {
  return std::make_unique<PodGroupPodsCount>();
}

}  // namespace berth::placement::plugins
