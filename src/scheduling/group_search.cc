// After no placement took a group in its members' own order: the proof that none can, or other orders and
// other choices of the members. Source: squeaky wheel optimization (Joslin, Clements 1999) for the orders.
#include <algorithm>
#include <numeric>
#include <set>

#include "scheduling/group_run.h"

namespace berth::scheduling {

// Sorts the placements out: those that a bound rules out, and the others. Of the former, the one that comes
// closest gives the proof.
void GroupCycle::refute(Run& run) {
  const std::int64_t needed = run.needed();
  if (run.members_max && *run.members_max < needed) {
    run.proof = GroupProof{needed, *run.members_max, {}, {}};
    return;
  }
  for (std::size_t i = 0; i < run.placements.size(); ++i) {
    const Placement& placement = run.placements[i];
    std::optional<GroupProof> proof;
    if (run.counts && run.counts->sum(placement.domain) < needed)
      proof = GroupProof{needed, run.counts->sum(placement.domain), {}, {}};
    else
      proof = run.bound.refute(placement.nodes, needed);
    if (!proof)
      run.unrefuted.push_back(i);
    else if (!run.proof || proof->have > run.proof->have)
      run.proof = std::move(proof);
  }
  if (!run.proof) run.proof = GroupProof{needed, 0, {}, {}};
}

std::optional<GroupOutcome> GroupCycle::search(Run& run) {
  Evaluation evaluation;
  const auto look_at = [&](const Placement& placement) {
    const Found found = try_other_orders(run, placement, evaluation);
    if (run.unproved != kFieldNotHonoured && !evaluation.unproved.empty()) run.unproved = evaluation.unproved;
    return found;
  };
  if (!run.unrefuted.empty())
    for (const Placement& placement : run.refined) {
      const Found found = look_at(placement);
      if (run.failed()) return std::move(run.failure);
      if (found == Found::Place) return accept(run, placement, evaluation);
    }
  run.unproved = {};
  bool proved = true;
  for (const std::size_t i : run.unrefuted) {
    const Found found = look_at(run.placements[i]);
    if (run.failed()) return std::move(run.failure);
    if (found == Found::Place) return accept(run, run.placements[i], evaluation);
    if (found == Found::Nothing) proved = false;
    const std::int64_t have = evaluation.exhausted ? run.needed() - 1 : evaluation.progress.placed;
    if (found == Found::Proof && have > run.proof->have) run.proof = GroupProof{run.needed(), have, {}, {}};
  }
  if (!proved && run.unproved.empty()) run.unproved = kSearchBudgetEnded;
  return std::nullopt;
}

// Whether refusals of members hold by themselves: no member chose devices, and none avoids a node for a
// while.
bool GroupCycle::is_sound(const Run& run, const Evaluation& evaluation) {
  return evaluation.chose_only_nodes && evaluation.unproved.empty() && run.input.avoid.empty();
}

// Refused members first, as often as that gives another order; then returns to earlier members.
GroupCycle::Found GroupCycle::try_other_orders(Run& run, const Placement& placement, Evaluation& evaluation) {
  const std::vector<std::uint32_t>& kinds = run.bound.kinds();
  Order order(kinds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::set<std::vector<std::uint32_t>> seen;
  const auto is_new = [&](const Order& one) {
    std::vector<std::uint32_t> of_kinds;
    for (const std::size_t member : one) of_kinds.push_back(kinds[member]);
    return seen.insert(std::move(of_kinds)).second;
  };
  const auto down = [&](Returns returns) {
    evaluation = descend(run, placement, order, ExplainMode::None, returns, &run.steps_left);
    if (!evaluation.error.empty())
      run.failure = error_outcome(run.input, std::move(evaluation.error), std::move(evaluation.explanation));
    return evaluation.feasible || run.failed();
  };
  for (std::size_t i = 0; i < kGroupOrdersMax && is_new(order); ++i) {
    if (down(Returns::None)) return Found::Place;
    // A search for devices that ended by its bound is too long to be repeated.
    if (run.steps_left == 0 || evaluation.unproved == kSearchBudgetEnded) return Found::Nothing;
    // Of equal members that choose nodes alone, the first descent places as many as there can be.
    if (seen.size() == 1 && *std::max_element(kinds.begin(), kinds.end()) == 0 && is_sound(run, evaluation))
      return Found::Proof;
    std::stable_partition(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(evaluation.tried),
                          [&](std::size_t member) { return !evaluation.members[member].node.valid(); });
  }
  if (down(Returns::ToEarlierMembers)) return Found::Place;
  // Every choice of nodes was tried, and each member was needed.
  const bool all = evaluation.exhausted && static_cast<std::size_t>(run.needed()) == kinds.size();
  return all && is_sound(run, evaluation) ? Found::Proof : Found::Nothing;
}

// Members that the search left out are tried once more behind the others, and told why not.
GroupOutcome GroupCycle::accept(Run& run, const Placement& placement, Evaluation& evaluation) {
  const auto before = run.transaction.savepoint();
  run.context.cluster.redo(evaluation.plan, run.transaction);
  for (std::size_t i = 0; i < evaluation.members.size(); ++i) {
    if (evaluation.members[i].node.valid()) continue;
    try_member(run, placement, i, evaluation, ExplainMode::Explain);
    if (evaluation.error.empty()) continue;
    run.transaction.roll_back_to(before);
    return error_outcome(run.input, std::move(evaluation.error), std::move(evaluation.explanation));
  }
  GroupOutcome outcome;
  outcome.kind = GroupOutcome::Kind::Placed;
  outcome.placement = placement.name;
  outcome.members = std::move(evaluation.members);
  return outcome;
}

}  // namespace berth::scheduling
