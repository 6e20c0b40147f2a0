#include "placement/groups/group_cycle.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "placement/groups/group_devices.h"
#include "placement/groups/group_run.h"
#include "placement/wishes/wish_search.h"

namespace berth::placement {

namespace {

std::string out_of_range(const PlacementScorer& scorer, std::int64_t score) {
  return "plugin \"" + std::string(scorer.name()) + "\" returns an invalid placement score " +
         std::to_string(score) + ", it should be in the range of [0, " + std::to_string(kPlacementScoreMax) +
         "]";
}

}  // namespace

bool before_in_queue(const api::Pod* a, const api::Pod* b) {
  if (a->priority != b->priority) return a->priority > b->priority;
  if (a->meta.created != b->meta.created) return a->meta.created < b->meta.created;
  return a->meta.name < b->meta.name;
}

std::string members_error(std::span<const api::Pod* const> members, std::int32_t priority) {
  for (const api::Pod* pod : members) {
    if (pod->priority != priority)
      return with_subjects(reason_row("MemberPriorityDiffers").text, std::to_string(pod->priority),
                           std::to_string(priority));
    if (pod->scheduler_name != members.front()->scheduler_name)
      return with_subjects(reason_row("MemberSchedulerDiffers").text, pod->scheduler_name,
                           members.front()->scheduler_name);
  }
  return {};
}

std::string group_error(const GroupInput& input) {
  std::vector<const api::Pod*> members = input.waiting;
  members.insert(members.end(), input.placed.begin(), input.placed.end());
  std::string error = members_error(members, input.group->priority);
  return error.empty() ? foreign_error(input) : error;
}

std::string foreign_error(const GroupInput& input) {
  if (!input.foreign || input.waiting.empty()) return {};
  if (input.scheduled + std::ssize(input.waiting) >= input.group->minimum()) return {};
  return with_subjects(reason_row("MemberSchedulerDiffers").text, input.foreign->scheduler_name,
                       input.waiting.front()->scheduler_name);
}

Result<std::vector<std::int64_t>> placement_totals(const PluginSet& plugins, const ScoringQuestion& question,
                                                   Scorers which) {
  std::vector<std::int64_t> totals(question.results.size());
  for (const auto& [scorer, weight] : plugins.placement_scorers) {
    if (which == Scorers::KnownBeforePlacing && !scorer->known_before_placing()) continue;
    std::vector<std::int64_t> scores(question.results.size());
    scorer->score(question, scores);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (scores[i] < 0 || scores[i] > kPlacementScoreMax)
        return Error(ErrorCode::Internal, out_of_range(*scorer, scores[i]));
      totals[i] += scores[i] * weight;
    }
  }
  return totals;
}

std::size_t GroupOutcome::placed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(members, [](const MemberOutcome& member) { return member.node.valid(); }));
}

const PluginSet& GroupCycle::plugins_of(const GroupInput& input) const {
  return input.waiting.empty() ? profiles_.first() : profiles_.of(*input.waiting.front());
}

GroupCycle::Run GroupCycle::make_run(const SchedulingContext& context, const GroupInput& input,
                                     model::Ledger::Transaction& transaction, Topology* topology,
                                     std::shared_ptr<const WaitingMembers> members) {
  const PluginSet& plugins = plugins_of(input);
  if (!members) members = std::make_shared<const WaitingMembers>(context.cluster, input.waiting);
  return {plugins,
          context,
          input,
          transaction,
          domains_.nodes(context.cluster),
          members,
          GroupFit(plugins, pods_, context, transaction, members->distinct()),
          GroupBound(plugins, pods_, context, transaction, input.waiting, proof_nodes_max_),
          topology};
}

Topology* GroupCycle::required_topology(const SchedulingContext& context, const GroupInput& input) {
  if (input.wish) {
    WishLevels levels(input.group->topology_keys, *input.wish, placements_, domains_, context.cluster);
    return levels.required() == 0 ? nullptr : &levels.topology(levels.required());
  }
  const bool by_topology = placements_ == Placements::ByTopology && !input.group->topology_keys.empty();
  return by_topology ? &domains_.topology(input.group->topology_keys.front(), context.cluster) : nullptr;
}

Result<std::vector<Placement>> GroupCycle::generate(const Run& run) const {
  return run.plugins.placement_generator->generate({run.topology ? &run.topology->tree() : nullptr,
                                                    run.all_nodes, run.input.placed, run.input.occupied,
                                                    run.input.recorded});
}

GroupOutcome GroupCycle::run(const SchedulingContext& context, const GroupInput& input,
                             model::Ledger::Transaction& transaction) {
  if (std::string error = group_error(input); !error.empty()) return error_outcome(input, std::move(error));
  if (input.wish) return WishSearch({*this, domains_, placements_, context, input, transaction}).run();
  return run_as_required(context, input, transaction);
}

GroupOutcome GroupCycle::run_as_required(const SchedulingContext& context, const GroupInput& input,
                                         model::Ledger::Transaction& transaction) {
  Run run = make_run(context, input, transaction, required_topology(context, input));
  auto placements = generate(run);
  if (!placements) return error_outcome(input, placements.error().message());
  run.placements = std::move(*placements);
  if (auto outcome = attempt(run)) return *std::move(outcome);
  refute(run);
  if (auto outcome = search(run)) return *std::move(outcome);
  return give_up(run);
}

GroupOutcome GroupCycle::refuse(const SchedulingContext& context, const GroupInput& input,
                                model::Ledger::Transaction& transaction) {
  Run run = make_run(context, input, transaction, required_topology(context, input));
  auto placements = generate(run);
  if (!placements) return error_outcome(input, placements.error().message());
  run.placements = std::move(*placements);
  promising(run);
  refute(run);
  return give_up(run);
}

GroupOutcome GroupCycle::run_among(const SchedulingContext& context, const GroupInput& input,
                                   const GroupScope& scope, model::Ledger::Transaction& transaction,
                                   std::string_view& unproved) {
  GroupOutcome none;
  none.members.resize(input.waiting.size());
  Run run = make_run(context, input, transaction, scope.topology);
  run.placements.assign(scope.placements.begin(), scope.placements.end());
  run.most = static_cast<std::size_t>(run.needed());
  run.steps = &scope.steps;
  run.explains = false;
  if (auto outcome = attempt(run)) return *std::move(outcome);
  if (scope.effort == GroupEffort::InOrder) return none;
  refute(run);
  if (auto outcome = search(run)) return *std::move(outcome);
  unproved = run.unproved;
  return none;
}

std::vector<Placement> GroupCycle::placements(const SchedulingContext& context, const GroupInput& input,
                                              model::Ledger::Transaction& transaction) {
  if (!group_error(input).empty()) return {};
  return generate(make_run(context, input, transaction, required_topology(context, input)))
      .value_or(std::vector<Placement>{});
}

std::vector<GroupCycle::RoomyPlacement> GroupCycle::roomiest_placements(
    const SchedulingContext& context, const GroupInput& input, model::Ledger::Transaction& transaction) {
  if (!group_error(input).empty()) return {};
  Run run = make_run(context, input, transaction, required_topology(context, input));
  run.placements = generate(run).value_or(std::vector<Placement>{});
  promising(run);
  std::vector<RoomyPlacement> found;
  for (Placement& one : run.placements) {
    const std::int64_t most = run.topology ? run.room(one.domain) : kFitCountMax;
    found.push_back({std::move(one), most});
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &RoomyPlacement::most);
  return found;
}

std::vector<std::int64_t> GroupCycle::rooms(const SchedulingContext& context, const GroupInput& input,
                                            std::span<const NodeId> nodes,
                                            model::Ledger::Transaction& transaction) {
  GroupFit fit(plugins_of(input), pods_, context, transaction, input.waiting);
  std::vector<std::int64_t> rooms;
  rooms.reserve(nodes.size());
  for (const NodeId node : nodes) rooms.push_back(fit.room(node));
  return rooms;
}

GroupCycle::Run GroupCycle::make_run(const SchedulingContext& context, const GroupInput& input,
                                     const GroupTrial& trial, model::Ledger::Transaction& transaction) {
  const bool is_given = trial.topology || !trial.placement.domain.valid();
  Run run = make_run(context, input, transaction,
                     is_given ? trial.topology : required_topology(context, input), trial.members);
  run.most = trial.most;
  run.explains = trial.explains;
  run.known_fit = trial.fit;
  run.placements = {trial.placement};
  return run;
}

model::ResourceAmounts GroupCycle::least_requests(const SchedulingContext& context,
                                                  const GroupInput& input) const {
  return plugins_of(input).fit_counter->demand(context.cluster, input.waiting).requests;
}

GroupOutcome GroupCycle::run_on(const SchedulingContext& context, const GroupInput& input,
                                const GroupTrial& trial, model::Ledger::Transaction& transaction) {
  if (input.wish) {
    const auto most = static_cast<std::int64_t>(std::min(trial.most, input.waiting.size()));
    WishSearch search({*this, domains_, placements_, context, input, transaction, &trial.placement});
    auto found = search.place(static_cast<std::int64_t>(trial.needed), most, trial.effort);
    if (found) return *std::move(found);
  }
  const auto none = [&] {
    GroupOutcome unplaced;
    unplaced.members.resize(input.waiting.size());
    return unplaced;
  };
  Run run = make_run(context, input, trial, transaction);
  Topology& topology = run.topology ? *run.topology : domains_.topology("", context.cluster);
  const topology::DomainId domain =
      trial.placement.domain.valid() ? trial.placement.domain : topology::Tree::root();
  if (run.counting_fit().counts(topology).sum(domain) < static_cast<std::int64_t>(trial.needed))
    return none();
  const auto before = transaction.savepoint();
  std::optional<GroupOutcome> outcome = attempt(run);
  if (outcome && outcome->placed() >= trial.needed) return *std::move(outcome);
  transaction.roll_back_to(before);
  if (trial.effort == GroupEffort::InOrder) return none();
  refute(run);
  outcome = search(run);
  if (outcome && outcome->placed() >= trial.needed) return *std::move(outcome);
  transaction.roll_back_to(before);
  return none();
}

GroupOutcome GroupCycle::refuse_on(const SchedulingContext& context, const GroupInput& input,
                                   const GroupTrial& trial, model::Ledger::Transaction& transaction) {
  Run run = make_run(context, input, trial, transaction);
  promising(run);
  refute(run);
  return give_up(run);
}

std::optional<GroupOutcome> GroupCycle::attempt(Run& run) {
  const auto attempt = [&](const std::vector<Placement>& candidates, std::vector<std::size_t> indices) {
    Evaluations feasible = feasible_of(run, candidates, std::move(indices));
    if (run.failed()) return std::optional(std::move(run.failure));
    return feasible.empty() ? std::nullopt : std::optional(choose_best(run, candidates, feasible));
  };
  const auto attempt_refined = [&](Refine refine) {
    std::vector<Placement> candidates = refined(run, refine);
    std::vector<std::size_t> all(candidates.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return attempt(candidates, std::move(all));
  };
  if (auto outcome = attempt_refined(&PlacementRefiner::refine)) return outcome;
  if (auto outcome = attempt(run.placements, promising(run))) return outcome;
  return attempt_refined(&PlacementRefiner::last_resort);
}

// Those of the placements that take the group; up to the first that takes every member.
GroupCycle::Evaluations GroupCycle::feasible_of(Run& run, const std::vector<Placement>& placements,
                                                std::vector<std::size_t> indices) {
  order_by_bound(run, placements, indices);
  if (run.failed()) return {};
  run.compares = indices.size() > 1;
  // The bounds do not count what devices take of nodes; if devices do, all placements are tried.
  const bool first_wins = known_before_placing(run) && !run.context.cluster.devices_take_of_nodes();
  Evaluations feasible;
  for (const std::size_t index : indices) {
    ++run.tried;
    // The first placement's refusals are what is reported; while another may take the group, they may be in
    // vain.
    const bool reported =
        run.explains && &placements == &run.placements && index == 0 && index == indices.back();
    Evaluation evaluation =
        evaluate(run, placements[index], reported ? MemberRefusals::Make : MemberRefusals::Omit,
                 first_wins && feasible.empty() ? Keep::IfComplete : Keep::Nothing);
    if (!evaluation.error.empty()) {
      run.failure = error_outcome(run.input, std::move(evaluation.error), std::move(evaluation.hint),
                                  std::move(evaluation.hint_pod));
      return {};
    }
    const bool last = first_wins && evaluation.complete;
    if (evaluation.feasible) {
      feasible.emplace(index, std::move(evaluation));
    } else if (&placements == &run.placements) {
      run.note(index, evaluation.progress.placed);
      if (reported) run.first = std::move(evaluation);
    }
    if (last) break;
  }
  return feasible;
}

std::vector<std::size_t> GroupCycle::promising(Run& run) {
  std::vector<std::size_t> indices;
  if (run.topology) run.counts = &run.counting_fit().counts(*run.topology);
  if (run.topology && run.placements.size() > 1) run.count_devices(*run.topology);
  for (std::size_t i = 0; i < run.placements.size(); ++i)
    if (!run.topology || run.room(run.placements[i].domain) >= run.needed()) indices.push_back(i);
  run.refused_by_bound = run.placements.size() - indices.size();
  return indices;
}

std::vector<Placement> GroupCycle::refined(Run& run, Refine refine) {
  Refinement found = (*run.plugins.placement_refiner.*refine)(
      {run.context, run.input.waiting, run.placements, run.needed(),
       [&run](NodeId node) { return run.fit.room(node); }, run.transaction, domains_});
  if (!run.shared_devices) run.shared_devices = found.shared_devices;
  run.refined_all &= found.complete;
  if (found.members_max) run.members_max = found.members_max;
  return std::move(found.placements);
}

DomainUse GroupCycle::use_of_placement(const Run& run, const Placement& placement) {
  const model::Cluster& cluster = run.context.cluster;
  if (!placement.narrowed && placement.domain.valid()) return run.topology->use(cluster, placement.domain);
  DomainUse use;
  for (const NodeId node : placement.nodes) use += use_of(cluster, node);
  return use;
}

void GroupCycle::order_by_bound(Run& run, const std::vector<Placement>& placements,
                                std::vector<std::size_t>& indices) {
  if (indices.size() < 2) return;
  const model::Cluster& cluster = run.context.cluster;
  const DomainUse all = run.members->requested(cluster);
  const auto everyone = run.scheduled() + static_cast<std::int32_t>(run.input.waiting.size());
  std::vector<PlacementResult> full;
  full.reserve(indices.size());
  for (const std::size_t i : indices) {
    full.push_back({&placements[i], use_of_placement(run, placements[i]), everyone, {}});
    full.back().use += all;
  }
  const std::vector<std::int64_t> totals = total_scores(run, full, Scorers::KnownBeforePlacing);
  std::vector<std::int64_t> bounds(placements.size());
  for (std::size_t i = 0; i < indices.size(); ++i) bounds[indices[i]] = totals[i];
  std::sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
    return bounds[a] != bounds[b] ? bounds[a] > bounds[b] : a < b;
  });
}

bool GroupCycle::known_before_placing(const Run& run) {
  return std::all_of(run.plugins.placement_scorers.begin(), run.plugins.placement_scorers.end(),
                     [](const auto& row) { return row.scorer->known_before_placing(); });
}

std::vector<std::int64_t> GroupCycle::total_scores(Run& run, std::span<const PlacementResult> results,
                                                   Scorers which) {
  auto totals =
      placement_totals(run.plugins, {run.context, *run.input.group, run.input.waiting, results}, which);
  if (totals) return *std::move(totals);
  run.failure = error_outcome(run.input, totals.error().message());
  return std::vector<std::int64_t>(results.size());
}

// As the member before it, which it repeats. None: it must be chosen for by itself.
NodeId GroupCycle::choose_again(Run& run, const Placement& placement, std::size_t member) {
  const bool follows = member > 0 && run.prepared == member - 1 && run.members->repeats(member);
  if (!follows || run.input.node_by_node || !run.input.avoid.empty()) return NodeId::none();
  if (!run.choice || !run.choice->is_among(placement.nodes) || !run.choice->may_repeat())
    return NodeId::none();
  if (!pods_.repeat(state_, *run.input.waiting[member], run.members->id(member))) return NodeId::none();
  return run.choice->choose_again(state_);
}

NodeId GroupCycle::choose(Run& run, const Placement& placement, std::size_t member) {
  if (const NodeId node = choose_again(run, placement, member); node.valid()) {
    run.prepared = member;
    return node;
  }
  run.prepared.reset();
  const api::Pod& pod = *run.input.waiting[member];
  const AvoidedNodes avoided = avoided_by(run.input.avoid, pod.meta.uid);
  const std::span<const NodeId> avoid = avoided.nodes();
  pods_.begin(state_, run.context, pod, run.members->id(member), &run.transaction);
  const NodeId nominated = pods_.choose_nominated(state_, placement.nodes, avoid);
  if (nominated.valid()) return nominated;
  if (run.input.node_by_node && run.latest.valid() && pods_.prepare(state_)) {
    if (const NodeId same = pods_.choose(state_, {&run.latest, 1}, avoid); same.valid()) return same;
    pods_.begin(state_, run.context, pod, run.members->id(member), &run.transaction);
  }
  if (placement.is_whole_cluster()) return signature_cache_.choose(state_, avoid);
  if (!run.choice || !run.choice->is_among(placement.nodes))
    run.choice.emplace(pods_, positions_, placement.nodes);
  const bool is_repeated = member + 1 < run.input.waiting.size() && run.members->repeats(member + 1);
  const NodeId node = run.choice->choose(state_, avoid, is_repeated);
  if (run.choice->may_repeat()) run.prepared = member;
  return node;
}

bool GroupCycle::try_member(Run& run, const Placement& placement, std::size_t member, Evaluation& evaluation,
                            MemberRefusals refusals) {
  const api::Pod& pod = *run.input.waiting[member];
  const bool anywhere = placement.is_whole_cluster();
  const NodeId node = choose(run, placement, member);
  if (!state_.diagnosis.error().empty()) {
    evaluation.error = state_.diagnosis.error();
    evaluation.hint = state_.diagnosis.hint();
    evaluation.hint_pod = pod.meta.name;
    return false;
  }
  MemberOutcome& outcome = evaluation.members[member];
  outcome.node = node;
  if (!node.valid()) {
    if (refusals == MemberRefusals::Omit) return false;
    outcome.refusal = outcome.closest = refuse_member(run, placement, pod);
    if (anywhere) outcome.deallocations = signature_cache_.post_filter(state_, run.transaction);
    return false;
  }
  auto reserved = pods_.reserve(state_, node, run.transaction);
  if (!reserved) {
    evaluation.error = state_.diagnosis.error();
    return false;
  }
  outcome.reservation = *std::move(reserved);
  run.latest = node;
  return true;
}

// After state_ found no node.
RefusalPtr GroupCycle::refuse_member(const Run& run, const Placement& placement, const api::Pod& pod) {
  FitError fit_error =
      placement.is_whole_cluster() ? signature_cache_.fit_error(state_) : pods_.fit_error(state_);
  Refusal refusal = refuse_pod(pod, std::move(fit_error), placement.nodes.size(), Preemption::NotTried);
  if (run.placements.size() > 1) refusal.placement = placement.name;
  return std::make_shared<Refusal>(std::move(refusal));
}

bool GroupCycle::is_feasible(const Run& run, const Evaluation& evaluation) {
  return evaluation.error.empty() && evaluation.progress.placed > 0 &&
         run.plugins.placement_state->judge(evaluation.progress) == Feasibility::Feasible;
}

// Places the members one after the other, in their own order. Leaves the transaction as it was, or keeps what
// took every member.
GroupCycle::Evaluation GroupCycle::evaluate(Run& run, const Placement& placement, MemberRefusals refusals,
                                            Keep keep) {
  const std::size_t size = run.input.waiting.size();
  Evaluation evaluation;
  evaluation.explained = refusals == MemberRefusals::Make;
  evaluation.members.resize(size);
  evaluation.progress = {run.minimum(), run.scheduled(), 0, static_cast<std::int32_t>(size)};
  run.choice.reset();
  run.prepared.reset();
  run.latest = NodeId::none();
  if (run.compares && !placement.is_whole_cluster()) evaluation.result.use = use_of_placement(run, placement);
  const auto before = run.transaction.savepoint();
  for (const ProposedAllocation& one : placement.allocations)
    run.transaction.allocate(one.claim, run.context.cluster.reservation_for(one.allocation));
  go_down(run, placement, refusals, evaluation);
  evaluation.feasible = is_feasible(run, evaluation);
  evaluation.complete =
      evaluation.feasible && static_cast<std::size_t>(evaluation.progress.placed) == std::min(size, run.most);
  evaluation.is_applied = evaluation.complete && keep == Keep::IfComplete;
  if (!evaluation.is_applied) evaluation.plan = run.transaction.take_since(before);
  evaluation.result.scheduled = evaluation.progress.scheduled;
  return evaluation;
}

// Ends where too few members are left.
void GroupCycle::go_down(Run& run, const Placement& placement, MemberRefusals refusals,
                         Evaluation& evaluation) {
  Progress& progress = evaluation.progress;
  for (std::size_t member = 0; member < run.input.waiting.size(); ++member) {
    if (run.plugins.placement_state->judge(progress) == Feasibility::Infeasible) return;
    if (static_cast<std::size_t>(progress.placed) >= run.most) return;
    const bool placed = try_member(run, placement, member, evaluation, refusals);
    if (!evaluation.error.empty()) return;
    --progress.remaining;
    if (!placed) continue;
    ++progress.placed;
    ++progress.scheduled;
    const Reservation& reserved = value_of(evaluation.members[member].reservation);
    const model::Cluster& cluster = run.context.cluster;
    if (reserved.node_allocatable)
      add_requested(cluster.charges(state_.pod_id, reserved.node_allocatable), evaluation.result.use);
    else
      add_requested(cluster.pod(state_.pod_id).requests, evaluation.result.use);
  }
}

// The placement's index.
std::size_t GroupCycle::highest_score(Run& run, const std::vector<Placement>& placements,
                                      const Evaluations& evaluations) {
  std::vector<PlacementResult> results;
  std::vector<std::size_t> indices;
  for (const auto& [index, evaluation] : evaluations) {
    indices.push_back(index);
    results.push_back(evaluation.result);
    results.back().placement = &placements[index];
    for (const MemberOutcome& member : evaluation.members) results.back().nodes.push_back(member.node);
  }
  const std::vector<std::int64_t> totals = total_scores(run, results, Scorers::All);
  return indices[std::max_element(totals.begin(), totals.end()) - totals.begin()];
}

GroupOutcome GroupCycle::choose_best(Run& run, const std::vector<Placement>& placements,
                                     Evaluations& evaluations) {
  const std::size_t best =
      evaluations.size() > 1 ? highest_score(run, placements, evaluations) : evaluations.begin()->first;
  if (run.failed()) return std::move(run.failure);
  Evaluation& winner = evaluations.at(best);
  if (!winner.complete && !winner.explained && run.explains)
    winner = evaluate(run, placements[best], MemberRefusals::Make, Keep::Nothing);
  GroupOutcome outcome;
  outcome.kind = GroupOutcome::Kind::Placed;
  outcome.placement = placements[best].name;
  outcome.members = std::move(winner.members);
  if (!winner.complete) add_refused_members(run.input, outcome);
  if (!winner.is_applied) run.context.cluster.redo(winner.plan, run.transaction);
  return outcome;
}

GroupOutcome GroupCycle::give_up(Run& run) {
  Refusal refusal = refuse_group(run.input, DecisionResult::Unschedulable);
  refusal.preemption =
      run.input.group->preemption_policy == "Never" ? Preemption::NotEligible : Preemption::NoVictims;
  GroupRefusal& why = *refusal.group;
  GroupOutcome outcome;
  if (run.placements.empty()) {
    outcome.members.resize(run.input.waiting.size());
  } else {
    if (!run.first) run.first = evaluate(run, run.placements.front(), MemberRefusals::Make, Keep::Nothing);
    Evaluation& first = *run.first;
    if (!first.error.empty())
      return error_outcome(run.input, std::move(first.error), std::move(first.hint),
                           std::move(first.hint_pod));
    outcome.members = std::move(first.members);
    for (MemberOutcome& member : outcome.members) member.node = NodeId::none();
    explain_closest(run, outcome);
    // Enough members have a node, but no waiting member fits: no placement is blamed.
    if (run.plugins.placement_state->judge(first.progress) != Feasibility::Feasible)
      why.first_status = &run.plugins.placement_state->reason();
    why.first_progress = first.progress;
  }
  fill_domains(run, why);
  why.shared_devices = run.shared_devices;
  why.saw_all_placements = run.refined_all;
  why.unproved = run.unproved;
  if (run.unproved.empty()) why.proof = std::move(run.proof);
  outcome.refusal = std::make_shared<Refusal>(std::move(refusal));
  add_refused_members(run.input, outcome);
  return outcome;
}

// The candidate with most room by these counts; the first of them.
template <class Room>
std::size_t GroupCycle::roomiest(const Run& run, const Room& room_of) {
  if (!run.counts) return 0;
  const auto most =
      std::ranges::max_element(run.placements, {}, [&](const Placement& one) { return room_of(one.domain); });
  return static_cast<std::size_t>(most - run.placements.begin());
}

// Kubernetes' words are about the first placement; ours about the one that takes most members, or would by
// its room if none was tried. It costs one more descent.
void GroupCycle::explain_closest(Run& run, GroupOutcome& outcome) {
  const std::size_t best =
      run.best ? *run.best : roomiest(run, [&](topology::DomainId domain) { return run.room(domain); });
  if (best == 0) return;
  const Placement& placement = run.placements[best];
  Evaluation evaluation = evaluate(run, placement, MemberRefusals::Make, Keep::Nothing);
  if (!evaluation.error.empty()) return;
  for (std::size_t i = 0; i < outcome.members.size(); ++i)
    outcome.members[i].closest = std::move(evaluation.members[i].refusal);
}

void GroupCycle::fill_domains(const Run& run, GroupRefusal& group) const {
  group.needed = run.needed();
  group.counts_placements = placements_ == Placements::ByTopology;
  group.placements = run.placements.size();
  group.refused_by_bound = run.refused_by_bound;
  group.tried = run.tried;
  group.searched = run.unrefuted.size();
  group.devices_short = devices_short(run);
  if (!run.topology) return;
  group.topology_key = run.topology->tree().keys().back();
  group.unlabelled = run.topology->tree().unlabelled_count();
  if (run.placements.empty()) return;
  const Placement& nearest =
      run.placements[roomiest(run, [&](topology::DomainId domain) { return run.counts->sum(domain); })];
  group.nearest = nearest.name;
  group.nearest_room = run.counts->sum(nearest.domain);
}

// Of no more nodes than are judged for a proof.
std::int64_t GroupCycle::devices_short(const Run& run) const {
  std::size_t nodes = 0;
  for (const Placement& one : run.placements) nodes += one.nodes.size();
  if (nodes > proof_nodes_max_) return 0;
  GroupDevices devices(run.context, run.input.waiting);
  if (!devices.limits()) return 0;
  std::int64_t least = 0;
  for (const Placement& one : run.placements) {
    const std::int64_t lacking = devices.lacking(one.nodes, run.needed());
    if (lacking == 0) return 0;
    least = least == 0 ? lacking : std::min(least, lacking);
  }
  return least;
}

}  // namespace berth::placement
