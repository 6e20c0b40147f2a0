#include "placement/decision_core.h"

#include <algorithm>

#include "placement/expected_duration.h"
#include "placement/groups/waiting_members.h"
#include "placement/preemption/resize_search.h"
#include "placement/replacement/replacement.h"
#include "placement/trees/whole_tree.h"

namespace berth::placement {

Placements placements_of(const api::Gates& gates) {
  return gates.enabled("TopologyAwareWorkloadScheduling") ? Placements::ByTopology : Placements::NodesAlone;
}

DecisionCore::DecisionCore(model::Cluster& cluster, dra::SelectorEvaluator& selectors,
                           const DecisionOptions& options)
    : allocator_(cluster, selectors, random_, options.gates),
      profiles_(options.profiles, options.plugins),
      pod_cycle_(profiles_, domains_),
      signature_cache_(pod_cycle_, domains_),
      group_cycle_(profiles_, domains_, signature_cache_, options.placements, options.proof_nodes_max),
      tree_cycle_(group_cycle_, profiles_, domains_, options.placements),
      victim_search_(pod_cycle_, domains_),
      group_victim_search_(group_cycle_, victim_search_),
      tree_victim_search_(tree_cycle_, victim_search_),
      pod_proof_nodes_max_(options.pod_proof_nodes_max) {
  allocator_.set_scoring(options.scoring);
}

std::optional<PodGate> DecisionCore::gate(const client::View& view, const api::Pod& pod) const {
  for (const auto& plugin : profiles_.of(pod).gates)
    if (std::optional<PodGate> gate = plugin->check(view, pod)) return gate;
  return std::nullopt;
}

std::optional<model::Place> DecisionCore::place_pod(const SchedulingContext& context, const api::Pod& pod,
                                                    std::span<const NodeId> avoid,
                                                    model::Ledger::Transaction& transaction) {
  pod_cycle_.begin(state_, context, pod, &transaction);
  NodeId node = pod_cycle_.choose_nominated(state_, domains_.nodes(context.cluster), avoid);
  if (!node.valid()) node = signature_cache_.choose(state_, avoid);
  return reserve_on(node, transaction);
}

std::optional<model::Place> DecisionCore::reserve_on(NodeId node, model::Ledger::Transaction& transaction) {
  if (!node.valid()) return std::nullopt;
  auto reserved = pod_cycle_.reserve(state_, node, transaction);
  if (!reserved) return std::nullopt;
  return model::Place{state_.pod_id, node, *std::move(reserved)};
}

std::optional<model::Place> DecisionCore::place_nominated(const SchedulingContext& context,
                                                          const api::Pod& pod,
                                                          model::Ledger::Transaction& transaction) {
  pod_cycle_.begin(state_, context, pod, &transaction);
  return reserve_on(pod_cycle_.choose_nominated(state_, domains_.nodes(context.cluster), {}), transaction);
}

PodDecision DecisionCore::decide_pod(const SchedulingContext& context, const api::Pod& pod,
                                     const AvoidSet& avoid, model::Ledger::Transaction& transaction,
                                     const Preempting& preempting) {
  for (const model::DeviceId device : avoid.devices) transaction.hide(device);
  std::optional<model::Place> found = place_pod(context, pod, avoid.nodes, transaction);
  if (found) return {found->node, std::move(found->reservation), nullptr, {}};
  PodDecision refused;
  Refusal why = refusal(context, pod);
  if (why.result != DecisionResult::Error)
    refused.deallocations = signature_cache_.post_filter(state_, transaction);
  // A claim that is given up may make room; only then others have to go.
  if (why.result == DecisionResult::Unschedulable && refused.deallocations.empty())
    refused.preemption = preempt(context, pod, avoid, transaction, preempting, why);
  refused.refusal = with_proof(context, std::move(why));
  return refused;
}

namespace {

// What the pod's or the group's own delay says, if that forbids a search.
bool is_too_early(const Preempting& preempting, Refusal& refusal) {
  if (preempting.not_before.empty() && preempting.invalid_delay.empty()) return false;
  refusal.preemption = Preemption::NotTried;
  refusal.searched = PreemptionSearched{};
  refusal.searched->not_before = preempting.not_before;
  refusal.searched->invalid_delay = preempting.invalid_delay;
  return true;
}

// What the search has found, in words. `node`: that the pod gets.
void describe(const model::Cluster& cluster, const VictimPlan& plan, std::string node, Refusal& refusal) {
  refusal.preemption = plan.victims.empty() ? Preemption::Waiting : Preemption::Found;
  PreemptionSearched& searched = *refusal.searched;
  searched.node = std::move(node);
  for (const auto* pods : {&plan.victims, &plan.awaited})
    for (const PreemptionVictim& victim : *pods)
      searched.victims.push_back(cluster.pod(victim.pod).key.text());
  for (const PreemptionVictim& victim : plan.victims)
    if (victim.invalid_checkpoint) searched.invalid_checkpoints.push_back(cluster.pod(victim.pod).key.text());
  searched.ended = plan.ended;
  searched.refused = plan.cost.refused;
  searched.groups = plan.groups;
}

void describe(NoVictimsFound why_not, PreemptionSearched& searched) {
  searched.without_victims = why_not.without_victims;
  searched.still = std::move(why_not.still);
  searched.ended = why_not.ended;
  searched.waits_for_bindings = why_not.waits_for_bindings;
}

// A pod of lower priority is bound.
void add_lower_placed(std::int32_t priority, PodHints& hints) {
  hints.add(kEventPodPlaced, {{facts::placed_up_to(), 1 - std::int64_t{priority}}});
}

bool is_never(const GroupInput& input) {
  if (!input.group->preemption_policy.empty()) return input.group->preemption_policy == "Never";
  return std::ranges::any_of(input.waiting,
                             [](const api::Pod* pod) { return pod->preemption_policy == "Never"; });
}

bool gives_up_claims(const std::vector<MemberOutcome>& members) {
  return std::ranges::any_of(members,
                             [](const MemberOutcome& member) { return !member.deallocations.empty(); });
}

// What a pod's turn depends on besides what plugins read. A reservation does not bind those that end before
// its room is used.
void sign_turn(const SchedulingContext& context, const api::Pod& pod, PodSignature& signature) {
  signature.put(static_cast<std::uint64_t>(std::uint32_t(pod.priority)));
  signature.put(pod.preemption_policy);
  const std::optional<Duration> runs = expected_duration(context.view, pod);
  signature.put(runs ? static_cast<std::uint64_t>(runs->micros()) : 0);
}

}  // namespace

// A pod that may have others evicted is helped by whatever brings a node closer: any event that concerns it
// wakes it. Without pods of lower priority that is what makes it fit, and the first such pod.
WaitsFor DecisionCore::waits_for(const SchedulingContext& context, const Refusal& refusal) {
  const api::Pod& pod = *state_.pod;
  const bool preempts = state_.plugins->preempts && pod.preemption_policy != "Never";
  WaitsFor wait;
  if (preempts && victim_search_.may_find(context, pod.priority)) {
    wait.hints = interests_of(context, pod);
    add_bindings(refusal, pod.priority, wait.hints);
  } else {
    wait.hints = state_.plugins->hints_for(state_, refusal.nodes);
    if (preempts) add_lower_placed(pod.priority, wait.hints);
  }
  PodSignature signature;
  const bool is_like_others = refusal.nodes.everywhere.empty() && pod.nominated_node.empty() &&
                              !context.first_nodes && pod.meta.annotation(kPreemptionDelayAnnotation).empty();
  if (!is_like_others || !pod_cycle_.sign(state_, signature)) return wait;
  signature.begin("Turn");
  sign_turn(context, pod, signature);
  wait.alike = signature.bytes();
  return wait;
}

namespace {

// What it reads besides its members is read by other groups alike.
bool is_comparable(const GroupInput& input) {
  const api::PodGroup& group = *input.group;
  const auto is_plain = [](const api::Pod* pod) {
    return pod->claims.empty() && pod->volumes.empty() && pod->nominated_node.empty();
  };
  return input.waiting.size() <= kMembersComparedMax && input.placed.empty() && input.joins.empty() &&
         !input.wish && group.parent.empty() && group.meta.annotation(kPreemptionDelayAnnotation).empty() &&
         std::ranges::all_of(input.waiting, is_plain);
}

}  // namespace

std::string DecisionCore::likeness_of(const SchedulingContext& context, const GroupInput& input) {
  if (context.first_nodes || !is_comparable(input)) return "";
  const api::PodGroup& group = *input.group;
  PodSignature all;
  all.begin("Group");
  all.put(static_cast<std::uint64_t>(std::uint32_t(group.priority)));
  all.put(group.preemption_policy);
  all.put(static_cast<std::uint64_t>(group.minimum()));
  all.put(group.topology_keys.size());
  for (const std::string& key : group.topology_keys) all.put(key);
  all.put(input.waiting.size());
  const WaitingMembers members(context.cluster, input.waiting);
  PodSignature own;
  for (std::size_t i = 0; i < input.waiting.size(); ++i) {
    const api::Pod& pod = *input.waiting[i];
    if (!members.repeats(i)) {
      own.clear();
      own.begin("Member");
      own.put(pod.scheduler_name);
      sign_turn(context, pod, own);
      pod_cycle_.begin(state_, context, pod, members.id(i), nullptr);
      if (!pod_cycle_.prepare(state_) || !pod_cycle_.sign(state_, own)) return "";
    }
    all.put(own.bytes());
  }
  return all.bytes();
}

void DecisionCore::add_bindings(const Refusal& refusal, std::int32_t priority, PodHints& hints) {
  if (refusal.searched && refusal.searched->waits_for_bindings) add_lower_placed(priority, hints);
}

PodHints DecisionCore::interests_of(const SchedulingContext& context,
                                    std::span<const api::Pod* const> pods) const {
  PodHints hints;
  // Who waits for others to go waits for nodes too, whatever the profile's filters read.
  hints.events = kEventNodeAdded | kEventNodeChanged | kEventPodGone | kEventPodResized;
  for (const api::Pod* pod : pods) profiles_.of(*pod).add_interests(context, *pod, hints);
  return hints;
}

std::optional<PreemptionPlan> DecisionCore::preempt(const SchedulingContext& context, const api::Pod& pod,
                                                    const AvoidSet& avoid,
                                                    model::Ledger::Transaction& transaction,
                                                    const Preempting& preempting, Refusal& refusal) {
  if (!preempting.searches || !state_.plugins->preempts || refusal.preemption == Preemption::NotEligible)
    return std::nullopt;
  if (is_too_early(preempting, refusal)) return std::nullopt;
  if (!refusal.nodes.everywhere.empty() || !victim_search_.may_find(context, pod.priority))
    return std::nullopt;
  const std::vector<RefusedByNode> nodes = signature_cache_.refused(state_);
  // That victims could make feasible: as a list of one, or empty.
  const auto hopeful = [&](NodeId node) -> std::span<const RefusedByNode> {
    const auto at = node.valid() ? std::ranges::find(nodes, node, &RefusedByNode::node) : nodes.end();
    if (at == nodes.end() || !(at->unschedulable || at->by_devices)) return {};
    return {&*at, 1};
  };
  if (!hopeful(preempting.waits_for).empty()) {
    refusal.preemption = Preemption::Waiting;
    return std::nullopt;
  }
  refusal.searched.emplace();
  NoVictimsFound why_not;
  std::optional<PreemptionPlan> plan;
  if (const auto first = hopeful(preempting.first); !first.empty())
    plan = victim_search_.find(context, pod, first, avoid.nodes, transaction, why_not);
  if (!plan) plan = victim_search_.find(context, pod, nodes, avoid.nodes, transaction, why_not);
  if (plan)
    describe(context.cluster, *plan, context.cluster.node(plan->node).name, refusal);
  else
    describe(std::move(why_not), *refusal.searched);
  return plan;
}

std::optional<VictimPlan> DecisionCore::decide_resize(const SchedulingContext& context, const api::Pod& pod,
                                                      model::Ledger::Transaction& transaction,
                                                      Refusal& refusal) {
  const PodId id = context.cluster.find_pod(pod.meta.ns, pod.meta.name);
  const model::NodeRow& node = context.cluster.node(context.cluster.ledger().node_of(id));
  const bool allowed = node.live && !node.live->disables_resize_preemption &&
                       pod.preemption_policy != "Never" && profiles_.of(pod).preempts;
  if (!allowed || resize_fits(context.cluster, id)) return std::nullopt;
  std::optional<VictimPlan> plan = find_resize_victims(context, pod, transaction);
  if (!plan) return std::nullopt;
  refusal.searched.emplace();
  describe(context.cluster, *plan, node.name, refusal);
  return plan;
}

// Of the pod that place_pod() found no node for.
Refusal DecisionCore::refusal(const SchedulingContext& context, const api::Pod& pod) {
  return refuse_pod(pod, signature_cache_.fit_error(state_), context.cluster.live_nodes().size(),
                    pod.preemption_policy == "Never" ? Preemption::NotEligible : Preemption::NoVictims);
}

RefusalPtr DecisionCore::with_proof(const SchedulingContext& context, Refusal refusal) {
  const bool proves = refusal.result == DecisionResult::Unschedulable && refusal.unproved().empty();
  if (pod_proof_nodes_max_ > 0 && proves)
    refusal.proof =
        pod_cycle_.prove(state_, refusal.nodes, domains_.nodes(context.cluster), pod_proof_nodes_max_);
  return std::make_shared<Refusal>(std::move(refusal));
}

// Of a member without the others; null: a node takes it.
RefusalPtr DecisionCore::refusal_of_one(const SchedulingContext& context, const api::Pod& member,
                                        model::Ledger::Transaction& transaction) {
  const auto before = transaction.savepoint();
  const bool placed = place_pod(context, member, {}, transaction).has_value();
  transaction.roll_back_to(before);
  return placed ? nullptr : with_proof(context, refusal(context, member));
}

bool DecisionCore::may_evict(const SchedulingContext& context, const GroupInput& members) {
  return !is_never(members) && profiles_.of(*members.waiting.front()).preempts &&
         victim_search_.may_find(context, members.group->priority);
}

// Of a group, or a tree of groups. A claim that is given up may make room; only then others have to go.
// Members that join a decision at the barrier wait for that.
bool DecisionCore::may_preempt(const SchedulingContext& context, const GroupInput& members,
                               bool gives_up_claims, const Preempting& preempting, Refusal& refusal) {
  if (is_never(members)) {
    refusal.preemption = Preemption::NotEligible;
    return false;
  }
  const bool searches = preempting.searches && profiles_.of(*members.waiting.front()).preempts;
  if (!searches || gives_up_claims || !members.joins.empty()) return false;
  if (is_too_early(preempting, refusal)) return false;
  if (!victim_search_.may_find(context, members.group->priority)) return false;
  if (!preempting.waits_for.valid()) return true;
  refusal.preemption = Preemption::Waiting;
  return false;
}

std::shared_ptr<GroupPreemptionPlan> DecisionCore::describe_victims(const SchedulingContext& context,
                                                                    const FindVictims& find,
                                                                    Refusal& refusal) {
  refusal.searched.emplace();
  NoVictimsFound why_not;
  auto plan = find(why_not);
  if (!plan) {
    describe(std::move(why_not), *refusal.searched);
    return nullptr;
  }
  describe(context.cluster, *plan, plan->placement, refusal);
  return std::make_shared<GroupPreemptionPlan>(*std::move(plan));
}

GroupOutcome DecisionCore::place_by(const GroupWishPtr& wish, const SchedulingContext& context,
                                    const GroupInput& input, model::Ledger::Transaction& transaction) {
  if (wish == input.wish) return group_cycle_.run(context, input, transaction);
  GroupInput changed = input;
  changed.wish = wish;
  return group_cycle_.run(context, changed, transaction);
}

GroupOutcome DecisionCore::place_group(const SchedulingContext& context, const GroupInput& input,
                                       model::Ledger::Transaction& transaction) {
  const GroupWishPtr wish = wish_of_late_members(context.cluster, input);
  GroupOutcome outcome = place_by(wish, context, input, transaction);
  const GroupWishPtr wider =
      outcome.kind == GroupOutcome::Kind::Unschedulable ? widened_wish(input, wish) : nullptr;
  if (!wider) return outcome;
  GroupOutcome spread = place_by(wider, context, input, transaction);
  return spread.kind == GroupOutcome::Kind::Placed ? spread : outcome;
}

GroupOutcome DecisionCore::decide_group(const SchedulingContext& context, const GroupInput& input,
                                        model::Ledger::Transaction& transaction,
                                        const Preempting& preempting) {
  for (const model::DeviceId device : input.hidden) transaction.hide(device);
  GroupOutcome outcome = place_group(context, input, transaction);
  const auto find = [&](NoVictimsFound& why_not) {
    return group_victim_search_.find(context, input, transaction, why_not);
  };
  if (outcome.kind == GroupOutcome::Kind::Unschedulable &&
      may_preempt(context, input, gives_up_claims(outcome.members), preempting, *outcome.refusal))
    outcome.preemption = describe_victims(context, find, *outcome.refusal);
  const GroupProof* proof = outcome.kind == GroupOutcome::Kind::Unschedulable && outcome.refusal->group->proof
                                ? &*outcome.refusal->group->proof
                                : nullptr;
  if (pod_proof_nodes_max_ > 0 && proof && proof->alone_refused)
    outcome.refusal->alone = refusal_of_one(context, *input.waiting[*proof->alone_refused], transaction);
  return outcome;
}

TreeOutcome DecisionCore::decide_tree(const SchedulingContext& context, const TreeInput& input,
                                      model::Ledger::Transaction& transaction, const Preempting& preempting) {
  for (const TreeNode& node : input.nodes)
    for (const model::DeviceId device : node.group.hidden) transaction.hide(device);
  TreeOutcome outcome = place_tree(context, input, transaction);
  if (outcome.kind != GroupOutcome::Kind::Unschedulable) return outcome;
  api::PodGroup as_group;
  const bool as_one = is_placed_as_one(input);
  const GroupInput members = as_one ? whole_tree_input(input, as_group) : as_one_group(input, as_group);
  if (members.waiting.empty() || (as_one && !needs_all_members(input))) return outcome;
  Refusal& refusal = *outcome.refusal;
  const bool gives_up = std::ranges::any_of(
      outcome.nodes, [](const TreeNodeOutcome& node) { return gives_up_claims(node.members); });
  const auto find = [&](NoVictimsFound& why_not) {
    return as_one ? group_victim_search_.find(context, members, transaction, why_not)
                  : tree_victim_search_.find(context, input, transaction, why_not);
  };
  if (may_preempt(context, members, gives_up, preempting, refusal))
    outcome.preemption = describe_victims(context, find, refusal);
  for (TreeNodeOutcome& node : outcome.nodes) {
    if (!node.refusal || node.refusal == outcome.refusal) continue;
    node.refusal->preemption = refusal.preemption;
    node.refusal->searched = refusal.searched;
  }
  return outcome;
}

bool wants_place(const client::View& view, const model::Cluster& cluster, const api::Pod& pod) {
  if (pod.bound() || pod.finished() || pod.meta.deleting()) return false;
  if (cluster.ledger().node_of(cluster.find_pod(pod.meta.ns, pod.meta.name)).valid()) return false;
  return standing_request(view, pod) == nullptr;
}

QueuedEntity queue_entry(const api::Pod& pod) {
  return {{pod.meta.ns, pod.meta.name, EntityKind::Pod}, pod.priority, pod.meta.created};
}

QueuedEntity queue_entry(const EntityKey& key, const api::PodGroup* group, const GroupMembers& members) {
  if (group) return {key, group->priority, group->meta.created};
  const api::Pod* first = *std::min_element(members.waiting.begin(), members.waiting.end(), before_in_queue);
  return {key, first->priority, first->meta.created};
}

std::optional<GroupGate> held_by_parent(const api::PodGroup& group) {
  if (group.parent.empty()) return std::nullopt;
  return GroupGate{GroupGate::Kind::HeldByParent, group.parent};
}

std::optional<GroupGate> group_gate(const EntityKey& key, const api::PodGroup* group,
                                    const GroupMembers& members) {
  if (!group) return GroupGate{GroupGate::Kind::NoGroup, key.name};
  if (auto held = held_by_parent(*group)) return held;
  if (members.alive >= group->minimum()) return std::nullopt;
  return GroupGate{GroupGate::Kind::TooFewMembers, key.name, *group->gang_min, members.alive};
}

GroupInput group_input(const api::PodGroup& group, GroupMembers members,
                       const std::function<AvoidSet(const api::Pod&)>& avoid_of) {
  GroupInput input;
  input.group = &group;
  input.waiting = std::move(members.waiting);
  input.foreign = members.foreign;
  input.placed = std::move(members.placed);
  input.occupied = std::move(members.occupied);
  input.recorded = std::move(members.recorded);
  input.levels = group.topology_keys;
  input.scheduled = members.scheduled + members.at_barrier;
  input.joins = std::move(members.joinable);
  input.unsettled = members.unsettled.has_value();
  for (const api::Pod* pod : input.waiting) {
    AvoidSet avoid = avoid_of(*pod);
    if (!avoid.nodes.empty()) input.avoid[pod->meta.uid] = AvoidedNodes(std::move(avoid.nodes));
    input.hidden.insert(input.hidden.end(), avoid.devices.begin(), avoid.devices.end());
  }
  std::sort(input.waiting.begin(), input.waiting.end(), before_in_queue);
  return input;
}

}  // namespace berth::placement
