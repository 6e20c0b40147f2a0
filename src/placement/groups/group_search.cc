// After no placement took a group in its members' own order: the proof that none can, or the tree of all
// choices (search/tree_search.h).
#include <algorithm>

#include "placement/groups/group_run.h"
#include "placement/search/tree_search.h"

namespace berth::placement {

// Sorts the placements out: those that a bound rules out, and the others. Of the former, the one that comes
// closest gives the proof.
void GroupCycle::refute(Run& run) {
  const std::int64_t needed = run.needed();
  if (run.members_max && *run.members_max < needed) {
    run.proof = GroupProof{needed, *run.members_max, {}, {}};
    return;
  }
  Topology& topology = run.topology ? *run.topology : domains_.topology("", run.context.cluster);
  const bool many = !run.topology && run.all_nodes.size() > proof_nodes_max_;
  if (many) {
    run.counts = &run.fit.counts(topology);
    run.count_devices(topology);
  }
  const auto domain_of = [&](const Placement& one) {
    return run.topology ? one.domain : topology::Tree::root();
  };
  const Placement* by_devices = nullptr;  // gives the proof, which does not yet name the members
  for (std::size_t i = 0; i < run.placements.size(); ++i) {
    const Placement& placement = run.placements[i];
    const topology::DomainId domain = domain_of(placement);
    std::optional<GroupProof> proof;
    if (const std::int64_t room = run.room(domain); room < needed)
      proof = GroupProof{needed, room, {}, {}};
    else
      proof = run.bound.refute(topology, domain, placement.nodes, needed);
    if (!proof) {
      run.unrefuted.push_back(i);
    } else if (!run.proof || proof->have > run.proof->have) {
      by_devices = run.counts && run.counts->sum(domain) >= needed ? &placement : nullptr;
      run.proof = std::move(proof);
    }
  }
  if (!run.proof) run.proof = GroupProof{needed, 0, {}, {}};
  if (!by_devices || !run.unrefuted.empty()) return;
  if (auto named = run.bound.refute(topology, domain_of(*by_devices), by_devices->nodes, needed))
    run.proof = std::move(named);
}

// One search on one placement.
struct GroupCycle::TreeRun {
  Run& run;
  const Placement& placement;
  GangDevices* devices;
  Budget& budget;
  std::vector<MemberOutcome> members = {};  // of the assignment that was accepted
};

std::optional<GroupOutcome> GroupCycle::search(Run& run) {
  run.unproved = {};
  if (run.input.waiting.size() > kTreeMembersMax && !run.unrefuted.empty()) {
    run.unproved = kSearchBudgetEnded;
    return std::nullopt;
  }
  Budget own(kGroupStepsMax);
  Budget& steps = run.steps ? *run.steps : own;
  for (std::size_t i = 0; i < run.unrefuted.size(); ++i) {
    const Placement& placement = run.placements[run.unrefuted[i]];
    BudgetShare share(steps, run.unrefuted.size() - i);
    const GangPart all{run.input.waiting.size(), static_cast<std::size_t>(run.needed()), placement.nodes};
    std::optional<GroupOutcome> found = search_on(run, placement, {&all, 1}, share.budget());
    if (run.failed()) return std::move(run.failure);
    if (found) return found;
    if (run.needed() - 1 > run.proof->have) run.proof = GroupProof{run.needed(), run.needed() - 1, {}, {}};
  }
  return std::nullopt;
}

GroupOutcome GroupCycle::run_together(const SchedulingContext& context, std::span<const GroupPart> parts,
                                      Budget& budget, model::Ledger::Transaction& transaction,
                                      std::string_view& unproved) {
  GroupInput all;
  all.group = parts.front().input->group;
  std::vector<GangPart> of_all;
  std::size_t needed = 0;
  std::vector<NodeId> nodes;
  for (const GroupPart& one : parts) {
    const GroupInput& input = *one.input;
    all.waiting.insert(all.waiting.end(), input.waiting.begin(), input.waiting.end());
    all.avoid.insert(input.avoid.begin(), input.avoid.end());
    nodes.insert(nodes.end(), one.placement->nodes.begin(), one.placement->nodes.end());
    of_all.push_back({input.waiting.size(), one.needed, one.placement->nodes});
    needed += one.needed;
  }
  std::ranges::sort(nodes, {},
                    [&](NodeId node) { return std::string_view(context.cluster.node(node).name); });
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  Placement placement;
  placement.narrowed = std::make_shared<const std::vector<NodeId>>(std::move(nodes));
  placement.nodes = *placement.narrowed;
  GroupOutcome none;
  none.members.resize(all.waiting.size());
  unproved = kSearchBudgetEnded;
  // The sizes of segments and the values of devices are not counted in one search.
  const bool any_parts = std::ranges::any_of(parts, [](const GroupPart& one) {
    return one.input->wish && (one.input->wish->segments || one.input->wish->same_devices);
  });
  if (any_parts || all.waiting.size() > kTreeMembersMax) return none;
  Run run =
      make_run(context, all, GroupTrial{placement, needed, GroupEffort::AllChoices, needed}, transaction);
  run.unproved = {};
  std::optional<GroupOutcome> found = search_on(run, placement, of_all, budget);
  if (run.failed()) return std::move(run.failure);
  unproved = run.unproved;
  return found ? *std::move(found) : std::move(none);
}

std::optional<GroupOutcome> GroupCycle::search_on(Run& run, const Placement& placement,
                                                  std::span<const GangPart> parts, Budget& budget) {
  TreeRun tree{run, placement, nullptr, budget};
  const TreeSearch::Moves moves{[&](NodeId node, std::span<const std::size_t> members,
                                    const DeviceChoice& choice) { return fits(tree, node, members, choice); },
                                [&](const TreeSearch::Seats& seats, const DeviceChoice& choice) {
                                  return accept(tree, seats, choice);
                                }};
  GangDevices devices(run.context, run.transaction, run.input.waiting, budget, moves.fits);
  tree.devices = &devices;
  const GangProblem problem =
      make_gang_problem({run.plugins, pods_, run.context, run.transaction, run.input.waiting, run.input.avoid,
                         run.bound.kinds(), parts},
                        placement.nodes, devices, state_, budget);
  TreeSearch search(problem, devices, budget, moves);
  if (search.run()) {
    GroupOutcome outcome;
    outcome.kind = GroupOutcome::Kind::Placed;
    outcome.placement = placement.name;
    outcome.members = std::move(tree.members);
    const bool complete = std::all_of(outcome.members.begin(), outcome.members.end(),
                                      [](const MemberOutcome& member) { return member.node.valid(); });
    if (!complete) add_refused_members(run.input, outcome);
    return outcome;
  }
  const bool all =
      !budget.ended() && !search.surprised() && !devices.choices().incomplete() && run.input.avoid.empty();
  if (run.unproved != kFieldNotHonoured && !problem.unproved.empty()) run.unproved = problem.unproved;
  if (run.unproved.empty() && !all) run.unproved = kSearchBudgetEnded;
  return std::nullopt;
}

// Whether the node takes these members with the devices of the choice. Leaves the transaction as it was.
bool GroupCycle::fits(TreeRun& tree, NodeId node, std::span<const std::size_t> members,
                      const DeviceChoice& choice) {
  if (!tree.budget.spend(members.size() * kStepsOfDevices)) return false;
  const auto before = tree.run.transaction.savepoint();
  const bool fit = std::all_of(members.begin(), members.end(), [&](std::size_t member) {
    MemberOutcome ignored;
    return place(tree, {member, node}, choice, ignored);
  });
  tree.run.transaction.roll_back_to(before);
  return fit;
}

// Places the member with the devices of the choice. False: the transaction is to be undone.
bool GroupCycle::place(TreeRun& tree, GangDevices::Seat seat, const DeviceChoice& choice,
                       MemberOutcome& outcome) {
  Run& run = tree.run;
  DeviceChoices& choices = tree.devices->choices();
  DeviceChoice own;
  for (const ClaimDevices& one : choice)
    for (const model::ClaimId claim : tree.devices->claims_of(seat.member))
      if (one.claim == claim && !run.context.cluster.ledger().reservation(claim)) own.push_back(one);
  // What devices take of nodes is only counted for claims that the member itself allocates.
  const bool chooses = run.context.cluster.devices_take_of_nodes();
  if (!chooses) choices.charge(own);
  const auto before = run.transaction.savepoint();
  if (chooses && !own.empty()) choices.exclude_others(seat.node, own);
  pods_.begin(state_, run.context, *run.input.waiting[seat.member], &run.transaction);
  if (pods_.prepare(state_)) outcome.node = pods_.choose(state_, {&seat.node, 1}, {});
  run.transaction.roll_back_to(before);
  std::optional<ReservationPtr> reserved;
  if (outcome.node.valid()) reserved = pods_.reserve(state_, outcome.node, run.transaction);
  if (!state_.diagnosis.error().empty())
    run.failure = error_outcome(run.input, state_.diagnosis.error(), state_.diagnosis.hint(),
                                run.input.waiting[seat.member]->meta.name);
  if (!reserved) return false;
  outcome.reservation = *std::move(reserved);
  return true;
}

// Places what the search found. Members that it left out are tried once more behind the others, and told why
// not.
bool GroupCycle::accept(TreeRun& tree, std::vector<GangDevices::Seat> seats, const DeviceChoice& choice) {
  Run& run = tree.run;
  Evaluation evaluation;
  evaluation.members.resize(run.input.waiting.size());
  run.prepared.reset();
  const auto before = run.transaction.savepoint();
  std::sort(seats.begin(), seats.end(), [](const auto& a, const auto& b) { return a.member < b.member; });
  const bool placed = std::all_of(seats.begin(), seats.end(), [&](const GangDevices::Seat& seat) {
    return place(tree, seat, choice, evaluation.members[seat.member]);
  });
  std::size_t count = seats.size();
  for (std::size_t i = 0; placed && i < evaluation.members.size() && count < run.most; ++i) {
    if (evaluation.members[i].node.valid()) continue;
    count += try_member(run, tree.placement, i, evaluation, MemberRefusals::Make) ? 1 : 0;
    if (evaluation.error.empty()) continue;
    run.failure = error_outcome(run.input, std::move(evaluation.error), std::move(evaluation.hint),
                                std::move(evaluation.hint_pod));
    break;
  }
  if (!placed || run.failed()) {
    run.transaction.roll_back_to(before);
    return false;
  }
  tree.members = std::move(evaluation.members);
  return true;
}

}  // namespace berth::placement
