// The decision for one pod or one group: what the live scheduler and `berth plan` have in common, order and
// texts included.
//
// Pure: reads the view and the model of its SchedulingContext, changes the caller's transaction alone; knows
// no queue, log, clock or write. Owner: one scheduler or one plan, one thread. The same inputs in the same
// order give the same answers. Source: kube-scheduler's scheduling cycle; texts of 1.37.0.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/gates.h"
#include "base/random.h"
#include "dra/allocator.h"
#include "scheduling/decision_log.h"
#include "scheduling/group_cycle.h"
#include "scheduling/group_members.h"
#include "scheduling/scheduling_queue.h"

namespace berth::scheduling {

// What a pod is kept away from: failed bindings, and room that is kept for others.
struct AvoidSet {
  std::vector<NodeId> nodes;
  std::vector<model::DeviceId> devices;
};

// Kubernetes' sentence first, ours after it.
std::string joined(const std::string& sentence, const std::string& explanation);

struct PodDecision {
  DecisionResult result = DecisionResult::Placed;  // Placed, Unschedulable or Error
  NodeId node;                                     // of Placed
  std::string reason;                              // of the condition
  std::string sentence;                            // Kubernetes' words; of an Error what is wrong
  std::string explanation;                         // ours
  bool out_of_budget = false;  // Unschedulable because a search ended early: no proven "no"
  FitError fit_error;
  std::vector<client::Chain> deallocations;  // of a claim that the pod could be placed without

  std::string message() const { return joined(sentence, explanation); }
};

// What a group that found no place is told.
struct GroupRefusal {
  DecisionResult result = DecisionResult::Unschedulable;  // or Error
  std::string reason;
  std::string sentence;     // Kubernetes' words for the group; of an Error what is wrong
  std::string explanation;  // ours
  std::string of_members;   // Kubernetes' words for members that have none of their own

  std::string message() const { return joined(sentence, explanation); }
};

// By TopologyAwareWorkloadScheduling.
Placements placements_of(const api::Gates& gates);

struct DecisionOptions {
  dra::DeviceGates gates = {};
  dra::DeviceScoring scoring = dra::DeviceScoring::Reference;
  Placements placements = Placements::ByTopology;
};

class DecisionCore {
 public:
  // All outlive it.
  DecisionCore(model::Cluster& cluster, dra::SelectorEvaluator& selectors, const DecisionOptions& options);
  DecisionCore(const DecisionCore&) = delete;
  DecisionCore& operator=(const DecisionCore&) = delete;

  // What share ids of the next decision derive from.
  void seed(std::uint64_t seed) { random_ = SeededRandom(seed); }

  // The first PreEnqueue plugin that holds the pod back; Open when none does.
  PreEnqueueResult pre_enqueue(const client::View& view, const api::Pod& pod) const;
  // Of a pod without a group. A placed pod stands in the transaction, its claims in state().reservation;
  // another leaves the transaction as it was, but for the hidden devices.
  PodDecision decide_pod(const SchedulingContext& context, const api::Pod& pod, const AvoidSet& avoid,
                         model::Ledger::Transaction& transaction);
  GroupOutcome decide_group(const SchedulingContext& context, const GroupInput& input,
                            model::Ledger::Transaction& transaction);
  // The same without words and with no device hidden; the node is none when there is no place.
  NodeId place_pod(const SchedulingContext& context, const api::Pod& pod, std::span<const NodeId> avoid,
                   model::Ledger::Transaction& transaction);
  GroupOutcome place_group(const SchedulingContext& context, const GroupInput& input,
                           model::Ledger::Transaction& transaction) {
    return group_cycle_.run(context, input, transaction);
  }

  // Of the latest pod that was decided.
  CycleState& state() { return state_; }
  dra::Allocator& allocator() { return allocator_; }
  DomainIndex& domains() { return domains_; }
  const PodCycle& pod_cycle() const { return pod_cycle_; }
  const PluginSet& plugins() const { return plugins_; }

 private:
  PodDecision refusal(const SchedulingContext& context, const api::Pod& pod,
                      model::Ledger::Transaction& transaction);

  SeededRandom random_{0};
  dra::Allocator allocator_;
  PluginSet plugins_;
  DomainIndex domains_;
  PodCycle pod_cycle_;
  SignatureCache signature_cache_;
  GroupCycle group_cycle_;
  CycleState state_;
};

// No node in the ledger and no bind request that stands for one.
bool wants_place(const client::View& view, const model::Cluster& cluster, const api::Pod& pod);

// The pod's or its group's place in the queue. A group that does not exist has its first waiting member's; of
// another the members are not read.
QueuedEntity queue_entry(const api::Pod& pod);
QueuedEntity queue_entry(const EntityKey& key, const api::PodGroup* group, const GroupMembers& members);

// Why a group cannot be tried now; empty when it can.
std::string group_gate(const EntityKey& key, const api::PodGroup* group, const GroupMembers& members);

// `avoid_of`: of each waiting member.
GroupInput group_input(const api::PodGroup& group, GroupMembers members,
                       const std::function<AvoidSet(const api::Pod&)>& avoid_of);

GroupRefusal group_refusal(const api::PodGroup& group, const GroupOutcome& outcome);

}  // namespace berth::scheduling
