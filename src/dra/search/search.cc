#include "dra/search/search.h"

#include <algorithm>

#include "base/known_defects.h"
#include "dra/search/search_proof.h"

namespace berth::dra {

void Search::begin(const CompiledAllocationRequest& compiled, model::NodeId node, std::size_t steps_max,
                   Explain explain) {
  context_.reset(compiled, node, steps_max);
  state_.reset();
  nearest_miss_.reset(explain);
  symmetry_.reset();
  problem_.reset();
}

bool Search::wants_more(const CompiledAllocationRequest& compiled, model::NodeId node,
                        const api::Allocation& chosen) {
  begin(compiled, node, 0, Explain::Nothing);
  if (!collect_all(context_)) return false;
  const auto among = [&](const CompiledSubRequest& sub, DeviceRef place) {
    const api::ResourceSlice& slice = *context_.devices->slice_at(place).live;
    const std::string& device = context_.devices->device_at(place).name;
    return std::any_of(chosen.results.begin(), chosen.results.end(), [&](const api::DeviceResult& result) {
      return result.request == sub.name && result.driver == slice.driver && result.pool == slice.pool &&
             result.device == device;
    });
  };
  return std::any_of(context_.collected.begin(), context_.collected.end(), [&](const auto& wanted) {
    const auto& [sub, places] = wanted;
    const bool is_chosen =
        std::any_of(chosen.results.begin(), chosen.results.end(),
                    [&, name = &sub->name](const auto& result) { return result.request == *name; });
    return is_chosen && !std::all_of(places.begin(), places.end(),
                                     [&, one = sub](DeviceRef place) { return among(*one, place); });
  });
}

SearchOutcome Search::run(const CompiledAllocationRequest& compiled, model::NodeId node, SearchSteps steps,
                          Explain explain) {
  begin(compiled, node, steps.max, explain);
  if (!collect_all(context_)) return SearchOutcome::Error;
  // The plain search answers most requests; a plan pays only for the rest.
  context_.steps_max = std::min(steps.max, plain_budget());
  SearchOutcome outcome = plain_.run();
  if (outcome == SearchOutcome::OutOfBudget && has(KnownDefect::SearchEndReadAsUnschedulable))
    return SearchOutcome::None;
  const std::size_t most = std::min(steps.max, steps.hard_max);
  if (outcome == SearchOutcome::OutOfBudget && context_.steps_max < most) {
    context_.steps_max = most;
    outcome = run_with_plan();
  }
  if (outcome == SearchOutcome::Found && scoring_ == DeviceScoring::LeastFragmenting &&
      BranchAndBound::applies_to(*context_.devices)) {
    nearest_miss_.stop_listening();
    BranchAndBound(context_, state_, trial_, steps.scoring_tries).improve();
  }
  return outcome;
}

std::size_t Search::plain_budget() const {
  std::size_t devices = kPlainDevicesMore;
  for (const CompiledClaim& claim : context_.compiled->claims)
    for (const CompiledRequest& request : claim.requests) devices += context_.wanted_at_least(request);
  if (has(KnownDefect::SearchEndReadAsUnschedulable)) devices = 2;
  return plain_steps_ * devices;
}

const Problem& Search::set_up_problem() {
  if (!problem_)
    problem_.emplace(*context_.compiled, context_.eligibility_check(), context_.values, context_.collected);
  return *problem_;
}

SearchOutcome Search::run_with_plan() {
  state_.undo_all();
  const Problem& problem = set_up_problem();
  if (problem.may_err) return plain_.run();
  nearest_miss_.stop_listening();  // the plain search has recorded its refusals
  return symmetry_.emplace(context_, state_, trial_, problem).run();
}

Certificate Search::certificate() {
  const std::size_t steps = context_.steps;
  state_.undo_all();
  nearest_miss_.stop_listening();
  Prover prover(*context_.compiled, set_up_problem(), context_.values, context_.collected);
  std::optional<Certificate> found = prover.by_numbers();
  Certificate certificate = found ? std::move(*found) : prove_by_search(context_, state_, plain_, prover);
  context_.steps = steps;
  return certificate;
}

}  // namespace berth::dra
