#include <algorithm>

#include "planning/judgement.h"
#include "planning/planner.h"

namespace berth::planning {
namespace {

using placement::GroupMembers;
using placement::GroupOutcome;

Proof too_few(const api::PodGroup& group, const GroupMembers& members) {
  return {"Gang",
          "",
          "",
          "",
          Quantity::of(group.minimum()),
          Quantity::of(members.alive),
          {},
          "the group has too few pods"};
}

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
  decision.message = placement::group_gate(key, turn.group, members);
  if (decision.message.empty()) decision.message = members.unsettled;
  if (!decision.message.empty()) {
    const bool has_parent = turn.group && !turn.group->parent.empty();
    if (has_parent) {
      decision.result = ResultKind::Unknown;
      decision.reason = placement::kFieldNotHonoured;
    } else if (turn.group && members.unsettled.empty()) {
      decision.certificate = too_few(*turn.group, members);
    }
    return;
  }
  const placement::GroupInput input = placement::group_input(
      *turn.group, std::move(members), [](const api::Pod&) { return placement::AvoidSet{}; });
  const GroupOutcome outcome = [&] {
    model::Ledger::Transaction transaction(offline_.cluster().ledger());
    return core_.decide_group(context_, input, transaction);
  }();
  if (outcome.kind == GroupOutcome::Kind::Placed) return place_group(input, outcome, decision);
  refuse_group(input, outcome, decision);
}

void Planner::refuse_group(const placement::GroupInput& input, const GroupOutcome& outcome,
                           Decision& decision) {
  const placement::GroupRefusal refusal = placement::group_refusal(*input.group, outcome);
  const bool failed = refusal.result == placement::DecisionResult::Error;
  decision.result = failed ? ResultKind::Error : ResultKind::Unschedulable;
  decision.reason = refusal.reason;
  decision.message = refusal.message();
  decision.explanation = refusal.explanation;
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    decision.pods[i].sentence = outcome.members[i].sentence;
    decision.pods[i].explanation = outcome.members[i].explanation;
  }
  if (!outcome.unproved.empty()) {
    decision.result = ResultKind::Unknown;
    decision.reason = outcome.unproved;
  } else if (outcome.proof) {
    decision.certificate = proof_of(input, *outcome.proof);
  }
}

// Where one member alone fits nowhere, its own proof.
std::optional<Proof> Planner::proof_of(const placement::GroupInput& input,
                                       const placement::GroupProof& proof) {
  if (proof.alone_refused) {
    const api::Pod& member = *input.waiting[*proof.alone_refused];
    model::Ledger::Transaction transaction(offline_.cluster().ledger());
    const placement::PodDecision alone = core_.decide_pod(context_, member, {}, transaction);
    if (alone.result == placement::DecisionResult::Unschedulable)
      if (auto own = prove(core_.pod_cycle(), core_.state(), alone.fit_error,
                           core_.domains().nodes(offline_.cluster()))) {
        own->words = "pod " + member.meta.name + " alone: " + own->words;
        return own;
      }
  }
  const auto pods = [](std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " pod" : " pods");
  };
  return Proof{"Gang",
               "",
               "",
               "",
               Quantity::of(proof.need),
               Quantity::of(proof.have),
               proof.items,
               "the group needs room for " + pods(proof.need) + ", and there is room for at most " +
                   std::to_string(proof.have)};
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
    if (!member.node.valid()) continue;
    place({pod, member.node, member.reservation}, bind_group, "group/" + decision.ns + "/" + decision.name,
          planned);
  }
  const bool constrained = !group.topology_keys.empty() && !outcome.placement.empty();
  decision.result = ResultKind::Placed;
  decision.reason = "Scheduled";
  decision.message = std::to_string(size) + " pods of " + group.meta.ns + "/" + group.meta.name + " go to " +
                     (constrained ? outcome.placement : "the cluster");
  if (constrained) decision.topology.emplace_back(group.topology_keys.front(), outcome.placement);
}

}  // namespace berth::planning
