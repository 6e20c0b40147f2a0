// The search with a plan: refuted at once where counting shows it, else depth first in the same order,
// without what cannot hold a solution (symmetry_pruning.h).
#include <algorithm>

#include "dra/search/search.h"

namespace berth::dra {
namespace {

void append(std::uint32_t number, std::string& key) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

SearchOutcome Search::run_pruned() {
  start_over();
  problem_.emplace(*compiled_, eligibility_check(), values_, collected_);
  if (problem_->may_err) return enter(0, 0);
  symmetry_.emplace(*compiled_, *problem_, values_);
  explains_ = false;  // the plain search has noted what it met
  if (symmetry_->relaxation.refute()) return SearchOutcome::None;
  return enter_pruned(0, 0);
}

SearchOutcome Search::enter_pruned(std::uint32_t claim, std::uint32_t request) {
  if (++steps_ > steps_max_) return SearchOutcome::OutOfBudget;
  if (claim == compiled_->claims.size()) return SearchOutcome::Found;
  const CompiledClaim& compiled_claim = compiled_->claims[claim];
  if (request == compiled_claim.requests.size()) return enter_pruned(claim + 1, 0);
  const auto in_claim = static_cast<std::size_t>(
      std::count_if(picks_.begin(), picks_.end(), [&](const Pick& pick) { return pick.claim == claim; }));
  std::string state;
  const bool described = symmetry_->watch && describe_state(claim, request, in_claim, state);
  if (described && symmetry_->no_goods.contains(state)) return SearchOutcome::None;
  const std::uint32_t group = symmetry_->group_of(claim, request);
  const CompiledRequest& compiled_request = compiled_claim.requests[request];
  const std::uint32_t first = symmetry_->first_alternative(group);
  SearchOutcome outcome = SearchOutcome::None;
  std::uint32_t a = first;
  for (; a < compiled_request.alternatives.size() && outcome == SearchOutcome::None; ++a) {
    outcome = next_pruned({claim, request, a}, 0, in_claim, 0);
    if (outcome == SearchOutcome::Found) chosen_[claim][request] = a;
    symmetry_->raise_alternative(group, 1);
  }
  symmetry_->raise_alternative(group, -static_cast<int>(a - first));
  if (outcome != SearchOutcome::None) return outcome;
  if (!described && !describe_state(claim, request, in_claim, state)) return outcome;
  if (symmetry_->no_goods.size() < kNoGoodsMax) symmetry_->no_goods.insert(std::move(state));
  return outcome;
}

// All that decides whether the rest can still be found. Twins look the same in it.
bool Search::describe_state(std::uint32_t claim, std::uint32_t request, std::size_t in_claim,
                            std::string& key) const {
  if (problem_->any_admin) return false;
  append(claim, key);
  append(request, key);
  append(static_cast<std::uint32_t>(in_claim), key);
  for (const std::uint32_t uses : symmetry_->class_use) {
    key += static_cast<char>(uses & 0xff);
    key += static_cast<char>(uses >> 8);  // a pod's claims have fewer results than two bytes count
  }
  std::vector<std::string> shares;  // of the devices that have any in this run
  for (std::uint32_t place = 0; place < symmetry_->uses.size(); ++place) {
    if (symmetry_->uses[place] == 0 || symmetry_->used.test(place)) continue;
    std::string& share = shares.emplace_back();
    append(problem_->class_of[place], share);
    CapacityMap sum;
    for (const Pick& pick : picks_)
      if (pick.device_run == problem_->places[place].device_run &&
          pick.device == problem_->places[place].device)
        for (const auto& [name, amount] : pick.consumed) sum[name] += amount;
    for (const auto& [name, amount] : sum) share += name + '=' + amount.text() + ';';
  }
  std::sort(shares.begin(), shares.end());
  for (const std::string& share : shares) key += share + '\n';
  for (const ConstraintState& constraint : constraints_[claim]) {
    std::vector<std::uint32_t> values(constraint.values().begin(), constraint.values().end());
    std::sort(values.begin(), values.end());
    append(static_cast<std::uint32_t>(values.size()), key);
    append(constraint.empty() ? 1 : 0, key);
    for (const std::uint32_t value : values) append(value, key);
  }
  return key.size() <= kStateBytesMax;
}

SearchOutcome Search::next_pruned(Position at, std::size_t taken, std::size_t in_claim, std::uint32_t from) {
  if (++steps_ > steps_max_) return SearchOutcome::OutOfBudget;
  const CompiledSubRequest& compiled = sub(at);
  const std::size_t count = wanted(at);
  const bool all = compiled.spec->mode == api::AllocationMode::All;
  if (all && count == 0) return SearchOutcome::None;
  if (taken >= count) return enter_pruned(at.claim, at.request + 1);
  if (in_claim + count - taken > kClaimResultsMax) return SearchOutcome::None;
  if (all) {
    const DeviceRef& place = collected_.at(&compiled)[taken];
    const std::uint32_t index =
        problem_->place_of(devices_->order[place.device_run].base + static_cast<std::uint32_t>(place.device));
    return index == Matching::kNone ? SearchOutcome::None : try_place(at, taken, in_claim, index);
  }
  const Bits& accepted = problem_->accepted(compiled);
  const std::uint32_t group = symmetry_->group_of(at.claim, at.request);
  const Bits& possible = compiled.spec->admin_access ? accepted : symmetry_->relaxation.accepts(group);
  const std::size_t mark = symmetry_->mark();
  SearchOutcome outcome = SearchOutcome::None;
  for (std::size_t i = accepted.next(from); i < accepted.end() && outcome == SearchOutcome::None;
       i = accepted.next(i + 1)) {
    const auto place = static_cast<std::uint32_t>(i);
    if (!compiled.spec->admin_access && (symmetry_->used.test(i) || !possible.test(i))) continue;
    const bool fresh = symmetry_->uses[place] == 0;
    if (fresh && symmetry_->excluded(group, at.alternative, problem_->class_of[place])) continue;
    if (++steps_ > steps_max_) {
      outcome = SearchOutcome::OutOfBudget;
      break;
    }
    outcome = try_place(at, taken, in_claim, place);
    if (outcome != SearchOutcome::None) break;
    symmetry_->watch = true;
    if (fresh) symmetry_->exclude(group, at.alternative, problem_->class_of[place], taken == 0);
  }
  symmetry_->back_to(mark);
  return outcome;
}

SearchOutcome Search::try_place(Position at, std::size_t taken, std::size_t in_claim, std::uint32_t place) {
  const TakeResult attempt = take(at, problem_->places[place]);
  if (attempt == TakeResult::Fatal) return SearchOutcome::Error;
  if (attempt == TakeResult::Refused) return SearchOutcome::None;
  const bool whole = !slice_of(picks_.back().device_run).shareable.test(picks_.back().device);
  const std::uint32_t slot = symmetry_->slot_of(symmetry_->group_of(at.claim, at.request), taken);
  symmetry_->take(place, slot, whole);
  const auto left = [&](std::uint32_t pool, std::uint32_t counter) {
    return pools_[pool].copied ? pools_[pool].available[counter] : devices_->pools[pool].available[counter];
  };
  SearchOutcome outcome = SearchOutcome::None;
  if (!symmetry_->watch || symmetry_->relaxation.still_possible(constraints_, symmetry_->used, left))
    outcome = next_pruned(at, taken + 1, in_claim + 1, place + 1);
  if (outcome == SearchOutcome::Found) return outcome;
  symmetry_->give_back(place, slot, whole);
  undo_last();
  if (symmetry_->watch) symmetry_->relaxation.restrict_to(constraints_);
  return outcome;
}

}  // namespace berth::dra
