// The decisions of one plan, one after the other: each sees the results of the earlier ones.
//
// Owner: one call of make_plan or expected_start. Deterministic. Uses the scheduler's own core.
#pragma once

#include "placement/trees/tree_members.h"
#include "planning/offline_core.h"
#include "planning/plan.h"

namespace berth::planning {

// Nodes judged for the proof that one group does not fit: a plan may take its time.
inline constexpr std::size_t kPlanProofNodesMax = 1'000'000;
// Nodes, by name, whose devices are searched for the smallest set that blocks a pod.
inline constexpr std::size_t kPlanPodProofNodesMax = 64;

// One turn: a pod without a group, or a group with its pending pods, or a tree of groups by its root.
struct Turn {
  placement::QueuedEntity entry;
  std::shared_ptr<const api::Pod> pod;   // of a pod
  const api::PodGroup* group = nullptr;  // null for a group that does not exist
};

placement::GroupMembers members_of(const client::View& view, const model::Cluster& cluster,
                                   const placement::EntityKey& group);

placement::TreeMembers tree_of(const client::View& view, const model::Cluster& cluster,
                               const placement::EntityKey& root);

// Whether groups with a parent are decided together.
enum class Trees : std::uint8_t { Held, Decided };
Trees trees_of(const PlanOptions& options);
// What the scheduler decides together with this pod: itself, its group, or its tree of groups by the root.
placement::EntityKey entity_of(const client::View& view, const api::Pod& pod, Trees trees);
// `key` is in the view, with a pod that waits.
Turn turn_of(const client::View& view, const model::Cluster& cluster, const placement::EntityKey& key);
// Pending pods and groups, in the order of the scheduler's queue.
std::vector<Turn> turns_of(const client::View& view, const model::Cluster& cluster, Trees trees);

// Whether all pods of one template are decided, and all groups that get equal answers
// (DecisionCore::likeness_of). DecideFirst: once the first one is refused, the others are left out of the
// plan until a place is given or freed.
enum class Alike : std::uint8_t { DecideEach, DecideFirst };

class Planner {
 public:
  Planner(OfflineCluster& offline, const PlanOptions& options, dra::SelectorEvaluator& selectors,
          ProofBounds proofs = {kPlanProofNodesMax, kPlanPodProofNodesMax}, Alike alike = Alike::DecideEach);
  // Whatever waits, once; called again after the cluster has changed.
  Plan run();
  // One turn, and pods that lose their place to it and come after it.
  Plan decide(const Turn& turn);

 private:
  // "nearest: gpu-large", of the objects of this kind in the namespace; empty: there is none.
  std::string hint_about(api::Kind kind, const std::string& ns, const std::string& missing) const;
  // The same of the claim or the template that the pod waits for, if it does not exist.
  std::string hint_about(const api::Pod& pod, const placement::PodGate& gate) const;
  // False when the pod cannot be tried now; the decision gives the reason.
  bool may_be_tried(const api::Pod& pod, Decision& decision) const;
  void decide_pod(const api::Pod& pod, Decision& decision);
  void refuse(placement::RefusalPtr refusal, Decision& decision);
  // The victims are gone for the decisions that follow, and the pods of the decision are placed.
  static std::vector<PlannedPod*> pods_of(Decision& decision);
  // `pods`: those that the plan may place.
  void preempt(const placement::VictimPlan& plan, std::span<PlannedPod* const> pods, Decision& decision);
  placement::Preempting preempting(const api::Pod& pod) const;
  // Of a group, or of a tree's root.
  placement::Preempting preempting(const api::ObjectMeta& group) const;
  // False: it is left out.
  bool decide_group(const Turn& turn, Decision& decision);
  void apply(const placement::GroupInput& input, const placement::GroupOutcome& outcome, Decision& decision);
  // One decision of the tree, and one for each group with pods to place.
  void decide_tree(const Turn& turn);
  void preempt_for_tree(const placement::TreeInput& input, const placement::TreeOutcome& outcome,
                        Decision& root, std::vector<Decision>& groups);
  void place_tree(const placement::TreeInput& input, const placement::TreeOutcome& outcome, Decision& root,
                  std::vector<Decision>& groups);
  void place_group(const placement::GroupInput& input, const placement::GroupOutcome& outcome,
                   std::int32_t decided, const api::GroupRoot& root, Decision& decision);
  struct Chosen {
    const api::Pod& pod;
    model::NodeId node;
    const model::ReservationPtr& reservation;
  };
  void place(const Chosen& chosen, const api::BindGroup& group, const std::string& id, PlannedPod& planned);
  void take_place(const Chosen& chosen, PlannedPod& planned);
  void add_turn(const client::NamedKey& pod);
  void take_turn(const Turn& turn);
  // Equal for pods, or groups, that get equal answers. Empty: it is like no other, or each is decided.
  std::string likeness_of(const api::Pod& pod) const;
  std::string likeness_of(const placement::GroupInput& input);
  Plan take_turns();
  std::vector<Json> objects() const;

  OfflineCluster& offline_;
  const PlanOptions& options_;
  OfflineCore offline_core_;
  placement::DecisionCore& core_;
  const placement::SchedulingContext& context_;
  const Alike alike_;
  std::set<std::string> refused_;  // likenesses
  std::vector<Turn> turns_;        // in the order of the queue
  std::size_t turn_ = 0;
  std::vector<Json> bind_requests_;
  std::vector<client::NamedKey> placed_;  // pods, in the order of their placement
  std::vector<Json> nominated_;           // pods that wait for their victims
  Plan plan_;
};

}  // namespace berth::planning
