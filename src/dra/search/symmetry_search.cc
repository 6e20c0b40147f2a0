#include "dra/search/symmetry_search.h"

#include <algorithm>

#include "base/key_bytes.h"

namespace berth::dra {
namespace {

// What costs as much as one step without constraints.
constexpr std::size_t kConstraintsOfAStep = 2, kKeyBytesOfAStep = 64;

}  // namespace

SearchOutcome SymmetrySearch::run() {
  if (pruning_.relaxation.refute()) return SearchOutcome::None;
  return enter(0, 0);
}

bool SymmetrySearch::step(std::uint32_t claim) {
  return context_.step(1 + state_.constraints()[claim].size() / kConstraintsOfAStep);
}

SearchOutcome SymmetrySearch::enter(std::uint32_t claim, std::uint32_t request) {
  if (!context_.step()) return SearchOutcome::OutOfBudget;
  if (claim == context_.compiled->claims.size()) return SearchOutcome::Found;
  if (request == context_.compiled->claims[claim].requests.size()) return enter(claim + 1, 0);
  const std::size_t in_claim = state_.picks_of(claim);
  std::string key;
  const bool is_described = pruning_.watch && describe(claim, request, in_claim, key);
  if (!context_.step(key.size() / kKeyBytesOfAStep)) return SearchOutcome::OutOfBudget;
  if (is_described && pruning_.no_goods.contains(key)) return SearchOutcome::None;
  const SearchOutcome outcome = try_alternatives(claim, request, in_claim);
  if (outcome != SearchOutcome::None) return outcome;
  if (!is_described && !describe(claim, request, in_claim, key)) return outcome;
  if (pruning_.no_goods.size() < kNoGoodsMax) pruning_.no_goods.insert(std::move(key));
  return outcome;
}

SearchOutcome SymmetrySearch::try_alternatives(std::uint32_t claim, std::uint32_t request,
                                               std::size_t in_claim) {
  const std::uint32_t group = pruning_.group_of(claim, request);
  const std::size_t count = context_.compiled->claims[claim].requests[request].alternatives.size();
  const std::uint32_t first = pruning_.first_alternative(group);
  SearchOutcome outcome = SearchOutcome::None;
  std::uint32_t a = first;
  for (; a < count && outcome == SearchOutcome::None; ++a) {
    outcome = take_next({claim, request, a}, 0, in_claim, 0);
    if (outcome == SearchOutcome::Found) state_.set_alternative({claim, request, a});
    pruning_.raise_alternative(group, 1);
  }
  pruning_.raise_alternative(group, -static_cast<int>(a - first));
  return outcome;
}

// Everything that decides whether the rest can be found; interchangeable devices look the same in it. False
// when it is too long, or depends on the order of picks.
bool SymmetrySearch::describe(std::uint32_t claim, std::uint32_t request, std::size_t in_claim,
                              std::string& key) const {
  if (problem_.any_admin) return false;
  append_plain<std::uint32_t>(key, claim);
  append_plain<std::uint32_t>(key, request);
  append_plain<std::uint32_t>(key, static_cast<std::uint32_t>(in_claim));
  for (const std::uint32_t uses : pruning_.class_use) {
    key += static_cast<char>(uses & 0xff);
    key += static_cast<char>(uses >> 8);  // a pod's claims have fewer results than two bytes count
  }
  describe_shares(key);
  for (const ConstraintState& constraint : state_.constraints()[claim]) {
    std::vector<std::uint32_t> values(constraint.values().begin(), constraint.values().end());
    std::sort(values.begin(), values.end());
    append_plain<std::uint32_t>(key, static_cast<std::uint32_t>(values.size()));
    append_plain<std::uint32_t>(key, constraint.empty() ? 1 : 0);
    for (const std::uint32_t value : values) append_plain<std::uint32_t>(key, value);
  }
  return key.size() <= kStateBytesMax;
}

// For the devices with shares in this run: class and consumed capacity.
void SymmetrySearch::describe_shares(std::string& key) const {
  std::vector<std::string> shares;
  for (std::uint32_t place = 0; place < pruning_.uses.size(); ++place) {
    if (pruning_.uses[place] == 0 || pruning_.used.test(place)) continue;
    std::string& share = shares.emplace_back();
    append_plain<std::uint32_t>(share, problem_.class_of[place]);
    CapacityMap sum;
    for (const Pick& pick : state_.picks())
      if (pick.place == problem_.places[place])
        for (const auto& [name, amount] : pick.consumed) sum[name] += amount;
    for (const auto& [name, amount] : sum) share += name + '=' + amount.text() + ';';
  }
  std::sort(shares.begin(), shares.end());
  for (const std::string& share : shares) key += share + '\n';
}

SearchOutcome SymmetrySearch::take_next(RequestRef at, std::size_t taken, std::size_t in_claim,
                                        std::uint32_t from) {
  if (!step(at.claim)) return SearchOutcome::OutOfBudget;
  const CompiledSubRequest& sub = context_.sub(at);
  const std::size_t count = context_.wanted(sub);
  const bool all = sub.spec->mode == api::AllocationMode::All;
  if (all && count == 0) return SearchOutcome::None;
  if (taken >= count) return enter(at.claim, at.request + 1);
  if (in_claim + count - taken > kClaimResultsMax) return SearchOutcome::None;
  if (!all) return take_any(at, taken, in_claim, from);
  const std::uint32_t place =
      problem_.place_of(context_.devices->flat_at(context_.collected.at(&sub)[taken]));
  return place == Matching::kNone ? SearchOutcome::None : try_place(at, taken, in_claim, place);
}

SearchOutcome SymmetrySearch::take_any(RequestRef at, std::size_t taken, std::size_t in_claim,
                                       std::uint32_t from) {
  const CompiledSubRequest& sub = context_.sub(at);
  const bool admin = sub.spec->admin_access;
  const std::uint32_t group = pruning_.group_of(at.claim, at.request);
  const Bits& accepted = problem_.accepted(sub);
  const Bits& possible = admin ? accepted : pruning_.relaxation.accepts(group);
  const std::size_t mark = pruning_.mark();
  SearchOutcome outcome = SearchOutcome::None;
  for (std::size_t i = accepted.next(from); i < accepted.end() && outcome == SearchOutcome::None;
       i = accepted.next(i + 1)) {
    const auto place = static_cast<std::uint32_t>(i);
    if (!admin && (pruning_.used.test(i) || !possible.test(i))) continue;
    const bool fresh = pruning_.uses[place] == 0;
    if (fresh && pruning_.excluded(group, at.alternative, problem_.class_of[place])) continue;
    if (!step(at.claim)) {
      outcome = SearchOutcome::OutOfBudget;
      break;
    }
    outcome = try_place(at, taken, in_claim, place);
    if (outcome != SearchOutcome::None) break;
    pruning_.watch = true;
    if (fresh) pruning_.exclude(group, at.alternative, problem_.class_of[place], taken == 0);
  }
  pruning_.back_to(mark);
  return outcome;
}

SearchOutcome SymmetrySearch::try_place(RequestRef at, std::size_t taken, std::size_t in_claim,
                                        std::uint32_t place) {
  const TrialResult result = trial_.take(at, problem_.places[place]);
  if (result == TrialResult::Fatal) return SearchOutcome::Error;
  if (result == TrialResult::Refused) return SearchOutcome::None;
  const bool whole = !context_.devices->is_shareable(problem_.places[place]);
  const std::uint32_t slot = pruning_.slot_of(pruning_.group_of(at.claim, at.request), taken);
  pruning_.take(place, slot, whole);
  SearchOutcome outcome = SearchOutcome::None;
  if (!pruning_.watch || still_possible()) outcome = take_next(at, taken + 1, in_claim + 1, place + 1);
  if (outcome == SearchOutcome::Found) return outcome;
  pruning_.give_back(place, slot, whole);
  state_.undo_last();
  if (pruning_.watch) pruning_.relaxation.restrict_to(state_.constraints());
  return outcome;
}

bool SymmetrySearch::still_possible() {
  const auto left = [&](std::uint32_t pool, std::uint32_t counter) {
    return state_.counters().available(pool)[counter];
  };
  return pruning_.relaxation.still_possible(state_.constraints(), pruning_.used, left);
}

}  // namespace berth::dra
