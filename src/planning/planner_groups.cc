#include <algorithm>

#include "planning/planner.h"

namespace berth::planning {
namespace {

using model::NodeId;
using scheduling::GroupOutcome;

Proof too_few(std::size_t minimum, std::size_t members) {
  return {"Gang",
          "",
          "",
          "",
          Quantity::of(static_cast<std::int64_t>(minimum)),
          Quantity::of(static_cast<std::int64_t>(members)),
          {},
          "the group has too few pods"};
}

}  // namespace

scheduling::GroupInput Planner::group_input(const Turn& turn) const {
  const model::Cluster& cluster = offline_.cluster();
  scheduling::GroupInput input;
  input.group = turn.group;
  for (const auto& pod : turn.pods) input.waiting.push_back(pod.get());
  std::sort(input.waiting.begin(), input.waiting.end(), scheduling::before_in_queue);
  for (const api::Pod* pod : offline_.view().pods_of_group(turn.ns, turn.name)) {
    const NodeId node = cluster.ledger().node_of(cluster.find_pod(turn.ns, pod->meta.name));
    if (!node.valid() || pod->finished() || pod->meta.deleting()) continue;
    input.placed.push_back(pod);
    input.occupied.push_back(node);
  }
  return input;
}

void Planner::decide_group(const Turn& turn, Decision& decision) {
  decision.reason = "Unschedulable";
  for (const auto& pod : turn.pods) decision.pods.push_back({pod->meta.ns, pod->meta.name, "", {}});
  if (!turn.group) {
    decision.message = "PodGroup " + turn.ns + "/" + turn.name + " is not in the input";
    return;
  }
  for (const auto& pod : turn.pods)
    if (!may_be_tried(*pod, decision)) return;
  const scheduling::GroupInput input = group_input(turn);
  const std::size_t members = input.waiting.size() + input.placed.size();
  const auto minimum = static_cast<std::size_t>(turn.group->gang_min.value_or(1));
  if (members < minimum) {
    decision.message =
        "the group has " + std::to_string(members) + " pods and needs " + std::to_string(minimum);
    decision.certificate = too_few(minimum, members);
    return;
  }
  const GroupOutcome outcome = [&] {
    model::Ledger::Transaction transaction(offline_.cluster().ledger());
    return groups_.run(context_, input, transaction);
  }();
  if (outcome.kind == GroupOutcome::Kind::Placed) return place_group(input, outcome, decision);
  const bool failed = outcome.kind == GroupOutcome::Kind::Error;
  decision.result = failed ? ResultKind::Error : ResultKind::Unschedulable;
  decision.reason = failed ? "SchedulerError" : "Unschedulable";
  decision.message = outcome.message + (failed ? "" : " " + outcome.explanation);
  if (!failed) decision.explanation = outcome.explanation;
}

void Planner::place_group(const scheduling::GroupInput& input, const GroupOutcome& outcome,
                          Decision& decision) {
  const api::PodGroup& group = *input.group;
  const auto size = std::count_if(outcome.members.begin(), outcome.members.end(),
                                  [](const auto& member) { return member.node.valid(); });
  const api::BindGroup bind_group{group.meta.name, group.meta.uid, static_cast<std::int32_t>(size)};
  decision.pods.clear();
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    const scheduling::MemberOutcome& member = outcome.members[i];
    const api::Pod& pod = *input.waiting[i];
    PlannedPod& planned = decision.pods.emplace_back(PlannedPod{pod.meta.ns, pod.meta.name, "", {}});
    if (!member.node.valid()) continue;
    place({pod, member.node, member.claims, member.node_allocatable}, bind_group,
          "group/" + decision.ns + "/" + decision.name, planned);
  }
  const bool constrained = !group.topology_keys.empty() && !outcome.placement.empty();
  decision.result = ResultKind::Placed;
  decision.reason = "Scheduled";
  decision.message = std::to_string(size) + " pods of " + group.meta.ns + "/" + group.meta.name + " go to " +
                     (constrained ? outcome.placement : "the cluster");
  if (constrained) decision.topology.emplace_back(group.topology_keys.front(), outcome.placement);
}

}  // namespace berth::planning
