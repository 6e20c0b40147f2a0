#include <algorithm>

#include "placement/refusal/berth_words.h"
#include "planning/planner.h"

namespace berth::planning {
namespace {

using placement::GroupMembers;
using placement::GroupOutcome;

}  // namespace

// Members of any scheduler: a plan is about the cluster, and writes nothing.
GroupMembers members_of(const client::View& view, const model::Cluster& cluster,
                        const placement::EntityKey& group) {
  const placement::GroupQuestions questions{[](const api::Pod&) { return true; },
                                            [](const std::string&) { return false; },
                                            [](const std::string&) { return false; }};
  return group_members(view, cluster, questions, group.ns, group.name);
}

void Planner::decide_group(const Turn& turn, Decision& decision) {
  decision.reason = "Unschedulable";
  const placement::EntityKey& key = turn.entry.key;
  GroupMembers members = members_of(offline_.view(), offline_.cluster(), key);
  std::sort(members.waiting.begin(), members.waiting.end(), placement::before_in_queue);
  for (const api::Pod* pod : members.waiting) decision.pods.push_back({pod->meta.ns, pod->meta.name, "", {}});
  for (const api::Pod* pod : members.waiting)
    if (!may_be_tried(*pod, decision)) return;
  if (auto gate = placement::group_gate(key, turn.group, members))
    return refuse(std::make_shared<placement::Refusal>(placement::gate_group(key, *std::move(gate))),
                  decision);
  if (members.unsettled) {
    decision.told = placement::gate_words(*members.unsettled);
    return;
  }
  const placement::GroupInput input = placement::group_input(
      *turn.group, std::move(members), [](const api::Pod&) { return placement::AvoidSet{}; });
  const GroupOutcome outcome = [&] {
    model::Ledger::Transaction transaction(offline_.cluster().ledger());
    return core_.decide_group(context_, input, transaction, preempting(*input.group));
  }();
  if (outcome.kind == GroupOutcome::Kind::Placed) return place_group(input, outcome, decision);
  for (std::size_t i = 0; i < outcome.members.size(); ++i)
    decision.pods[i].refusal = outcome.members[i].closest;
  if (outcome.preemption) {
    decision.refusal = outcome.refusal;
    return preempt(*outcome.preemption, decision);
  }
  refuse(outcome.refusal, decision);
}

void Planner::place_group(const placement::GroupInput& input, const GroupOutcome& outcome,
                          Decision& decision) {
  const api::PodGroup& group = *input.group;
  const auto size = std::count_if(outcome.members.begin(), outcome.members.end(),
                                  [](const auto& member) { return member.node.valid(); });
  const api::BindGroup bind_group{group.meta.name, group.meta.uid, static_cast<std::int32_t>(size)};
  decision.pods.clear();
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    const placement::MemberOutcome& member = outcome.members[i];
    const api::Pod& pod = *input.waiting[i];
    PlannedPod& planned = decision.pods.emplace_back(PlannedPod{pod.meta.ns, pod.meta.name, "", {}});
    planned.refusal = member.closest;
    if (!member.node.valid()) continue;
    place({pod, member.node, member.reservation}, bind_group, "group/" + decision.ns + "/" + decision.name,
          planned);
  }
  const bool constrained = !group.topology_keys.empty() && !outcome.placement.empty();
  decision.result = ResultKind::Placed;
  decision.reason = "Scheduled";
  decision.told = std::to_string(size) + " pods of " + group.meta.ns + "/" + group.meta.name + " go to " +
                  (constrained ? outcome.placement : "the cluster");
  if (constrained) decision.topology.emplace_back(group.topology_keys.front(), outcome.placement);
}

}  // namespace berth::planning
