// The decision for one pod or one group: the scheduler and `berth plan` share it.
//
// Pure: it reads the view and the model of its SchedulingContext and changes only the caller's transaction;
// it has no queue, log, clock or write. Owner: one scheduler or one plan, one thread. The same inputs in the
// same order give the same answers. Source: kube-scheduler's scheduling cycle.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/gates.h"
#include "base/random.h"
#include "dra/allocator.h"
#include "placement/decision_result.h"
#include "placement/entity.h"
#include "placement/groups/group_cycle.h"
#include "placement/groups/group_members.h"
#include "placement/preemption/group_victim_search.h"
#include "placement/preemption/tree_victim_search.h"

namespace berth::placement {

// What a pod must not use: nodes and devices of failed bindings, and those reserved for others.
struct AvoidSet {
  std::vector<NodeId> nodes;  // ascending
  std::vector<model::DeviceId> devices;
};

struct PodDecision {
  NodeId node;                               // none: refused
  ReservationPtr reservation;                // of a placed pod
  RefusalPtr refusal;                        // null: placed
  std::vector<client::Chain> deallocations;  // of a claim that the pod could be placed without
  std::optional<PreemptionPlan> preemption;  // of a refused pod, where evictions make room
};

// Whether a refused pod or group may have others evicted.
struct Preempting {
  bool searches = false;
  NodeId waits_for;           // its victims on this node have not ended; none: it has no victims
  NodeId first;               // of an earlier plan whose victims end; none: all nodes are equal
  std::string not_before;     // not empty: a delay of its own is not over
  std::string invalid_delay;  // not empty: its delay cannot be read
};

// ByTopology if the gate TopologyAwareWorkloadScheduling is on.
Placements placements_of(const api::Gates& gates);

struct DecisionOptions {
  dra::DeviceGates gates = {};
  dra::DeviceScoring scoring = dra::DeviceScoring::Reference;
  Placements placements = Placements::ByTopology;
  MakePlugins plugins = default_plugins;
  std::size_t proof_nodes_max = kGroupProofNodesMax;  // of a group's proof
  std::size_t pod_proof_nodes_max = 0;                // of a pod's; 0: refused pods get no proof
  std::span<const Profile> profiles = {};             // empty: one for all pods
};

// Members of a group that is compared with others.
inline constexpr std::size_t kMembersComparedMax = 64;

class DecisionCore {
 public:
  // All outlive it.
  DecisionCore(model::Cluster& cluster, dra::SelectorEvaluator& selectors, const DecisionOptions& options);
  DecisionCore(const DecisionCore&) = delete;
  DecisionCore& operator=(const DecisionCore&) = delete;

  // Before each decision: share ids derive from the seed, and searches for devices get their steps.
  void begin(std::uint64_t seed) {
    random_ = SeededRandom(seed);
    allocator_.begin_decision();
  }

  // Of the first PreEnqueue plugin that holds the pod back.
  std::optional<PodGate> gate(const client::View& view, const api::Pod& pod) const;
  // For a pod without a group. If it is placed, the transaction has the pod with its reservation. Otherwise
  // the transaction is unchanged, except that the avoided devices are hidden.
  PodDecision decide_pod(const SchedulingContext& context, const api::Pod& pod, const AvoidSet& avoid,
                         model::Ledger::Transaction& transaction, const Preempting& preempting = {});
  // For a pod whose resize its node puts off: whom it has evicted, and in `refusal` the same in words.
  std::optional<VictimPlan> decide_resize(const SchedulingContext& context, const api::Pod& pod,
                                          model::Ledger::Transaction& transaction, Refusal& refusal);
  // What the pod of the latest decide_pod() waits for, which refused it.
  WaitsFor waits_for(const SchedulingContext& context, const Refusal& refusal);
  // Equal for refused groups that get equal answers; empty: this one is like no other. Groups with places,
  // rooms that are kept for them, claims, volumes or a policy are, and those of more members than
  // kMembersComparedMax. Cost: the prefilters of each member.
  std::string likeness_of(const SchedulingContext& context, const GroupInput& input);
  // The changes that bring a node closer to taking the pod, or one of the pods, whichever plugin refuses it.
  PodHints interests_of(const SchedulingContext& context, std::span<const api::Pod* const> pods) const;
  PodHints interests_of(const SchedulingContext& context, const api::Pod& pod) const {
    const api::Pod* const one = &pod;
    return interests_of(context, {&one, 1});
  }
  // Whether those members of a group that have no place yet may have others evicted for them.
  bool may_evict(const SchedulingContext& context, const GroupInput& members);
  // What wakes a pod or group of this priority that was refused while possible victims are being bound.
  static void add_bindings(const Refusal& refusal, std::int32_t priority, PodHints& hints);
  GroupOutcome decide_group(const SchedulingContext& context, const GroupInput& input,
                            model::Ledger::Transaction& transaction, const Preempting& preempting = {});
  TreeOutcome decide_tree(const SchedulingContext& context, const TreeInput& input,
                          model::Ledger::Transaction& transaction, const Preempting& preempting = {});
  // The same without refusals of pods and without hidden devices. Not set when the pod fits nowhere. `avoid`:
  // ascending.
  std::optional<model::Place> place_pod(const SchedulingContext& context, const api::Pod& pod,
                                        std::span<const NodeId> avoid,
                                        model::Ledger::Transaction& transaction);
  // The same on the node that status.nominatedNodeName names alone.
  std::optional<model::Place> place_nominated(const SchedulingContext& context, const api::Pod& pod,
                                              model::Ledger::Transaction& transaction);
  // Late members of a group whose policy widens its domain: there, if that takes them, else one level wider.
  GroupOutcome place_group(const SchedulingContext& context, const GroupInput& input,
                           model::Ledger::Transaction& transaction);
  TreeOutcome place_tree(const SchedulingContext& context, const TreeInput& input,
                         model::Ledger::Transaction& transaction) {
    return tree_cycle_.run(context, input, transaction);
  }

  // Of the latest pod that was decided.
  CycleState& state() { return state_; }
  dra::Allocator& allocator() { return allocator_; }
  DomainIndex& domains() { return domains_; }
  GroupCycle& group_cycle() { return group_cycle_; }
  const PodCycle& pod_cycle() const { return pod_cycle_; }
  const Profiles& profiles() const { return profiles_; }

 private:
  // Of the pod that was begun last.
  std::optional<model::Place> reserve_on(NodeId node, model::Ledger::Transaction& transaction);
  Refusal refusal(const SchedulingContext& context, const api::Pod& pod);
  std::optional<PreemptionPlan> preempt(const SchedulingContext& context, const api::Pod& pod,
                                        const AvoidSet& avoid, model::Ledger::Transaction& transaction,
                                        const Preempting& preempting, Refusal& refusal);
  GroupOutcome place_by(const GroupWishPtr& wish, const SchedulingContext& context, const GroupInput& input,
                        model::Ledger::Transaction& transaction);
  using FindVictims = std::function<std::optional<GroupPreemptionPlan>(NoVictimsFound& why_not)>;
  bool may_preempt(const SchedulingContext& context, const GroupInput& members, bool gives_up_claims,
                   const Preempting& preempting, Refusal& refusal);
  static std::shared_ptr<GroupPreemptionPlan> describe_victims(const SchedulingContext& context,
                                                               const FindVictims& find, Refusal& refusal);
  RefusalPtr with_proof(const SchedulingContext& context, Refusal refusal);
  RefusalPtr refusal_of_one(const SchedulingContext& context, const api::Pod& member,
                            model::Ledger::Transaction& transaction);

  SeededRandom random_{0};
  dra::Allocator allocator_;
  const Profiles profiles_;
  DomainIndex domains_;
  PodCycle pod_cycle_;
  SignatureCache signature_cache_;
  GroupCycle group_cycle_;
  TreeCycle tree_cycle_;
  VictimSearch victim_search_;
  GroupVictimSearch group_victim_search_;
  TreeVictimSearch tree_victim_search_;
  const std::size_t pod_proof_nodes_max_;
  CycleState state_;
};

// True if the pod has no node in the ledger and no BindRequest that has not failed.
bool wants_place(const client::View& view, const model::Cluster& cluster, const api::Pod& pod);

// The queue entry of a pod, or of a group. For a group that does not exist (null) the first waiting member
// gives the priority and the time.
QueuedEntity queue_entry(const api::Pod& pod);
QueuedEntity queue_entry(const EntityKey& key, const api::PodGroup* group, const GroupMembers& members);

// Why a child of a CompositePodGroup waits: its parent's constraints are not read (KEP-6012), and a placement
// without them could be wrong. None for a group without a parent.
std::optional<GroupGate> held_by_parent(const api::PodGroup& group);
// Why a group cannot be tried now; none when it can.
std::optional<GroupGate> group_gate(const EntityKey& key, const api::PodGroup* group,
                                    const GroupMembers& members);

// `avoid_of` is called for each waiting member.
GroupInput group_input(const api::PodGroup& group, GroupMembers members,
                       const std::function<AvoidSet(const api::Pod&)>& avoid_of);

}  // namespace berth::placement
