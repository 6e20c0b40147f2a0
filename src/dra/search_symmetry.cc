// The search with a plan: refuted at once where counting shows it, else depth first in the same order,
// without what cannot hold a solution (symmetry_pruning.h).
#include <algorithm>

#include "dra/search.h"

namespace berth::dra {
namespace {

void append(std::uint32_t number, std::string& key) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

Outcome Search::run_exact() {
  start_over();
  problem_.emplace(*ask_, stages(), values_, collected_);
  if (problem_->may_err) return enter(0, 0);
  exact_.emplace(*ask_, *problem_, values_);
  words_ = false;  // the plain search has noted what it met
  if (exact_->relaxation.refute()) return Outcome::None;
  return enter_exact(0, 0);
}

Outcome Search::enter_exact(std::uint32_t claim, std::uint32_t request) {
  if (++steps_ > steps_max_) return Outcome::OutOfBudget;
  if (claim == ask_->claims.size()) return Outcome::Found;
  const ClaimAsk& claim_ask = ask_->claims[claim];
  if (request == claim_ask.requests.size()) return enter_exact(claim + 1, 0);
  const auto in_claim = static_cast<std::size_t>(
      std::count_if(picks_.begin(), picks_.end(), [&](const Pick& pick) { return pick.claim == claim; }));
  std::string state;
  const bool described = exact_->watch && describe_state(claim, request, in_claim, state);
  if (described && exact_->dead_ends.contains(state)) return Outcome::None;
  const std::uint32_t group = exact_->group_of(claim, request);
  const RequestAsk& request_ask = claim_ask.requests[request];
  const std::uint32_t first = exact_->first_alternative(group);
  Outcome outcome = Outcome::None;
  std::uint32_t a = first;
  for (; a < request_ask.alternatives.size() && outcome == Outcome::None; ++a) {
    outcome = next_exact({claim, request, a}, 0, in_claim, 0);
    if (outcome == Outcome::Found) chosen_[claim][request] = a;
    exact_->raise_alternative(group, 1);
  }
  exact_->raise_alternative(group, -static_cast<int>(a - first));
  if (outcome != Outcome::None) return outcome;
  if (!described && !describe_state(claim, request, in_claim, state)) return outcome;
  if (exact_->dead_ends.size() < kDeadEndsMax) exact_->dead_ends.insert(std::move(state));
  return outcome;
}

// All that decides whether the rest can still be found. Twins look the same in it.
bool Search::describe_state(std::uint32_t claim, std::uint32_t request, std::size_t in_claim,
                            std::string& key) const {
  if (problem_->any_admin) return false;
  append(claim, key);
  append(request, key);
  append(static_cast<std::uint32_t>(in_claim), key);
  for (const std::uint32_t uses : exact_->class_use) {
    key += static_cast<char>(uses & 0xff);
    key += static_cast<char>(uses >> 8);  // a pod's claims have fewer results than two bytes count
  }
  std::vector<std::string> shares;  // of the devices that have any in this run
  for (std::uint32_t place = 0; place < exact_->uses.size(); ++place) {
    if (exact_->uses[place] == 0 || exact_->used.test(place)) continue;
    std::string& share = shares.emplace_back();
    append(problem_->class_of[place], share);
    CapacityMap sum;
    for (const Pick& pick : picks_)
      if (pick.segment == problem_->places[place].segment && pick.device == problem_->places[place].device)
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

Outcome Search::next_exact(Position at, std::size_t taken, std::size_t in_claim, std::uint32_t from) {
  if (++steps_ > steps_max_) return Outcome::OutOfBudget;
  const SubAsk& ask = sub(at);
  const std::size_t count = wanted(at);
  const bool all = ask.spec->mode == api::AllocationMode::All;
  if (all && count == 0) return Outcome::None;
  if (taken >= count) return enter_exact(at.claim, at.request + 1);
  if (in_claim + count - taken > kClaimResultsMax) return Outcome::None;
  if (all) {
    const Place& place = collected_.at(&ask)[taken];
    const std::uint32_t index =
        problem_->place_of(devices_->order[place.segment].base + static_cast<std::uint32_t>(place.device));
    return index == Matching::kNone ? Outcome::None : try_place(at, taken, in_claim, index);
  }
  const Bits& accepted = problem_->accepted(ask);
  const std::uint32_t group = exact_->group_of(at.claim, at.request);
  const Bits& possible = ask.spec->admin_access ? accepted : exact_->relaxation.accepts(group);
  const std::size_t mark = exact_->mark();
  Outcome outcome = Outcome::None;
  for (std::size_t i = accepted.next(from); i < accepted.end() && outcome == Outcome::None;
       i = accepted.next(i + 1)) {
    const auto place = static_cast<std::uint32_t>(i);
    if (!ask.spec->admin_access && (exact_->used.test(i) || !possible.test(i))) continue;
    const bool fresh = exact_->uses[place] == 0;
    if (fresh && exact_->excluded(group, at.alternative, problem_->class_of[place])) continue;
    if (++steps_ > steps_max_) {
      outcome = Outcome::OutOfBudget;
      break;
    }
    outcome = try_place(at, taken, in_claim, place);
    if (outcome != Outcome::None) break;
    exact_->watch = true;
    if (fresh) exact_->exclude(group, at.alternative, problem_->class_of[place], taken == 0);
  }
  exact_->back_to(mark);
  return outcome;
}

Outcome Search::try_place(Position at, std::size_t taken, std::size_t in_claim, std::uint32_t place) {
  const Attempt attempt = take(at, problem_->places[place]);
  if (attempt == Attempt::Fatal) return Outcome::Error;
  if (attempt == Attempt::Refused) return Outcome::None;
  const bool whole = !slice_of(picks_.back().segment).shareable.test(picks_.back().device);
  const std::uint32_t slot = exact_->slot_of(exact_->group_of(at.claim, at.request), taken);
  exact_->take(place, slot, whole);
  const auto left = [&](std::uint32_t pool, std::uint32_t counter) {
    return pools_[pool].copied ? pools_[pool].available[counter] : devices_->pools[pool].available[counter];
  };
  Outcome outcome = Outcome::None;
  if (!exact_->watch || exact_->relaxation.still_possible(constraints_, exact_->used, left))
    outcome = next_exact(at, taken + 1, in_claim + 1, place + 1);
  if (outcome == Outcome::Found) return outcome;
  exact_->give_back(place, slot, whole);
  undo_last();
  if (exact_->watch) exact_->relaxation.restrict_to(constraints_);
  return outcome;
}

}  // namespace berth::dra
