// Which waiting entries may be tried: each entry that changed enters the queue, is gated, or leaves it.
//
// Cost: O(log n) an entry, of a group or tree O(members). A pod that joins one that waits is O(log n), unless
// its group is complete with it; in a tree O(groups). Source: kube-scheduler's PreEnqueue.
#pragma once

#include "scheduling/decision_log.h"
#include "scheduling/loop_state.h"
#include "scheduling/member_counts.h"

namespace berth::scheduling {

class EntryGate {
 public:
  // `log`: null keeps nothing.
  EntryGate(LoopState& loop, DecisionCore& core, DecisionLog* log)
      : loop_(loop), core_(core), decisions_(log) {}

  // All dirty entries.
  void reconsider(const client::View& view, Time now);
  GroupMembers members_of(const client::View& view, const EntityKey& key) const;
  TreeMembers tree_of(const client::View& view, const EntityKey& key) const;
  // Whether a decision about it is under way: its gate is closed then, if all of it is evaluated again.
  static bool is_unsettled(const GroupInput& input);
  static bool is_unsettled(const TreeInput& input);

 private:
  placement::GroupQuestions questions() const;
  // Why the pod is not tried; its condition says so where Kubernetes has words for it.
  std::optional<placement::PodGate> gate(const client::View& view, const api::Pod& pod, Time now);
  std::optional<placement::GateReason> gate(const client::View& view, const EntityKey& key,
                                            const api::PodGroup* group, const GroupMembers& members,
                                            Time now);
  std::optional<placement::GateReason> gate(const client::View& view, const TreeMembers& tree, Time now);
  // Of the members alone: the last one that is held back counts, then an unsettled decision.
  void gate_members(const client::View& view, const GroupMembers& members,
                    std::optional<placement::GateReason>& closed, Time now);
  void enqueue(const QueuedEntity& entry, Time now);
  // Holds the room of a nomination, or ends that. True if it made room.
  bool follow_nomination(const client::View& view, const EntityKey& key, const api::Pod& pod, Time now);
  void reconsider_pod(const client::View& view, const EntityKey& key, Time now);
  void reconsider_group(const client::View& view, const EntityKey& key, Time now);
  // For pods that joined a group, or one of a tree: nothing else about the entry changed. False: all of it is
  // to be evaluated.
  bool join(const client::View& view, const EntityKey& key, const std::vector<std::string>& pods, Time now);
  void note_counts(const EntityKey& key, const api::PodGroup& group, const GroupMembers& members,
                   const std::optional<placement::GateReason>& closed);
  void reconsider_tree(const client::View& view, const EntityKey& key, Time now);
  void note_counts(const TreeMembers& tree, const std::optional<placement::GateReason>& closed);
  void leave_queue(const EntityKey& key, Time now);
  void tell_group_scheduled(const client::View& view, const api::PodGroup& group, const GroupMembers& members,
                            Time now);
  void tell_tree_scheduled(const client::View& view, const TreeMembers& tree, Time now);
  void tell_scheduled(const client::View& view, const api::ObjectKey& key, const api::GangRegister& group,
                      Duration grace, Time now);
  void tell_held(const client::View& view, const api::ObjectKey& key, const api::GangRegister& group,
                 const placement::GroupGate& held, Time now);
  void tell_members_held(const client::View& view, const TreeMembers& tree, const placement::GroupGate& held,
                         Time now);
  void tell_tree_held(const client::View& view, const TreeMembers& tree, const placement::GroupGate& held,
                      Time now);
  // Of a PodGroup or a CompositePodGroup with a PlacementPolicy.
  template <class Group>
  std::optional<placement::GroupGate> policy_gate(const client::View& view, const Group& group, Time now);
  std::optional<placement::GroupGate> policy_gate_of_tree(const client::View& view, const TreeMembers& tree,
                                                          Time now);
  void log_gate(const EntityKey& key, placement::GateReason gate, Time now);
  void log_gate(const TreeMembers& tree, const placement::GateReason& gate, Time now);

  LoopState& loop_;
  DecisionCore& core_;
  DecisionLog* decisions_;
  MemberCounts counts_;  // of entries that are open, or wait for members alone
};

}  // namespace berth::scheduling
