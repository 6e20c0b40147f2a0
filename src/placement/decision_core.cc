#include "placement/decision_core.h"

#include <algorithm>

#include "placement/refusal/explain.h"

namespace berth::placement {
namespace {

std::string preemption_sentence(const api::PodGroup& group) {
  return group.preemption_policy == "Never"
             ? ", pod group preemption: not eligible due to preemptionPolicy=Never."
             : ", pod group preemption: No preemption victims found for incoming preemptor";
}

}  // namespace

std::string joined(const std::string& sentence, const std::string& explanation) {
  return sentence + (sentence.empty() || explanation.empty() ? "" : " ") + explanation;
}

Placements placements_of(const api::Gates& gates) {
  return gates.enabled("TopologyAwareWorkloadScheduling") ? Placements::ByTopology : Placements::NodesAlone;
}

DecisionCore::DecisionCore(model::Cluster& cluster, dra::SelectorEvaluator& selectors,
                           const DecisionOptions& options)
    : allocator_(cluster, selectors, random_, options.gates),
      plugins_(options.plugins()),
      pod_cycle_(plugins_, domains_),
      signature_cache_(pod_cycle_, domains_),
      group_cycle_(plugins_, domains_, signature_cache_, options.placements, options.proof_nodes_max) {
  allocator_.set_scoring(options.scoring);
}

PreEnqueueResult DecisionCore::pre_enqueue(const client::View& view, const api::Pod& pod) const {
  for (const auto& plugin : plugins_.gates) {
    PreEnqueueResult result = plugin->check(view, pod);
    if (result.kind != PreEnqueueResult::Kind::Open) return result;
  }
  return {};
}

std::optional<model::Place> DecisionCore::place_pod(const SchedulingContext& context, const api::Pod& pod,
                                                    std::span<const NodeId> avoid,
                                                    model::Ledger::Transaction& transaction) {
  pod_cycle_.begin(state_, context, pod);
  NodeId node = pod_cycle_.choose_nominated(state_, domains_.nodes(context.cluster), avoid);
  if (!node.valid()) node = signature_cache_.choose(state_, avoid);
  if (!node.valid()) return std::nullopt;
  auto reserved = pod_cycle_.reserve(state_, node, transaction);
  if (!reserved) return std::nullopt;
  return model::Place{state_.pod_id, node, *std::move(reserved)};
}

PodDecision DecisionCore::decide_pod(const SchedulingContext& context, const api::Pod& pod,
                                     const AvoidSet& avoid, model::Ledger::Transaction& transaction) {
  for (const model::DeviceId device : avoid.devices) transaction.hide(device);
  std::optional<model::Place> found = place_pod(context, pod, avoid.nodes, transaction);
  if (!found) return refusal(context, pod, transaction);
  PodDecision placed;
  placed.node = found->node;
  placed.reservation = std::move(found->reservation);
  placed.reason = "Scheduled";
  return placed;
}

PodDecision DecisionCore::refusal(const SchedulingContext& context, const api::Pod& pod,
                                  model::Ledger::Transaction& transaction) {
  PodDecision refused;
  refused.fit_error = signature_cache_.fit_error(state_);
  const FitError& fit_error = refused.fit_error;
  if (!fit_error.error.empty()) {
    refused.result = DecisionResult::Error;
    refused.reason = "SchedulerError";
    refused.sentence = fit_error.error;
    refused.explanation = explain_error(pod, fit_error.hint);
    return refused;
  }
  const std::size_t node_count = context.cluster.live_nodes().size();
  refused.result = DecisionResult::Unschedulable;
  refused.reason = "Unschedulable";
  refused.sentence = fit_error.fit_sentence(node_count);
  if (node_count > 0)
    refused.sentence += " " + fit_error.preemption_sentence(node_count, pod.preemption_policy);
  refused.explanation = explain_pod(state_, fit_error, node_count);
  refused.deallocations = signature_cache_.post_filter(state_, transaction);
  return refused;
}

GroupOutcome DecisionCore::decide_group(const SchedulingContext& context, const GroupInput& input,
                                        model::Ledger::Transaction& transaction) {
  for (const model::DeviceId device : input.hidden) transaction.hide(device);
  return place_group(context, input, transaction);
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

std::string held_by_parent(const api::PodGroup& group) {
  if (group.parent.empty()) return "";
  return "its parent, CompositePodGroup " + group.parent +
         ", may constrain it, and composite groups are not scheduled yet";
}

std::string group_gate(const EntityKey& key, const api::PodGroup* group, const GroupMembers& members) {
  if (!group) return "PodGroup " + key.name + " does not exist";
  if (std::string held = held_by_parent(*group); !held.empty()) return held;
  if (members.alive >= group->minimum()) return "";
  return "the gang wants " + std::to_string(*group->gang_min) + " pods, and " +
         std::to_string(members.alive) + (members.alive == 1 ? " is there" : " are there");
}

GroupInput group_input(const api::PodGroup& group, GroupMembers members,
                       const std::function<AvoidSet(const api::Pod&)>& avoid_of) {
  GroupInput input;
  input.group = &group;
  input.waiting = std::move(members.waiting);
  input.placed = std::move(members.placed);
  input.occupied = std::move(members.occupied);
  input.scheduled = members.scheduled + members.at_barrier;
  input.joins = std::move(members.joinable);
  for (const api::Pod* pod : input.waiting) {
    AvoidSet avoid = avoid_of(*pod);
    if (!avoid.nodes.empty()) input.avoid[pod->meta.uid] = std::move(avoid.nodes);
    input.hidden.insert(input.hidden.end(), avoid.devices.begin(), avoid.devices.end());
  }
  std::sort(input.waiting.begin(), input.waiting.end(), before_in_queue);
  return input;
}

GroupRefusal group_refusal(const api::PodGroup& group, const GroupOutcome& outcome) {
  const bool failed = outcome.kind == GroupOutcome::Kind::Error;
  GroupRefusal refusal;
  refusal.result = failed ? DecisionResult::Error : DecisionResult::Unschedulable;
  refusal.reason = failed ? "SchedulerError" : "Unschedulable";
  refusal.sentence = failed ? outcome.message : outcome.message + preemption_sentence(group);
  refusal.explanation = outcome.explanation;
  // Members that fit, or were not tried, get the group's sentence.
  refusal.of_members = failed || outcome.without_placements
                           ? outcome.message
                           : "pod group is unschedulable, " + refusal.sentence;
  return refusal;
}

}  // namespace berth::placement
