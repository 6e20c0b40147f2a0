#include "placement/refusal/kubernetes_words.h"

#include <algorithm>
#include <array>

namespace berth::placement {
namespace {

constexpr std::string_view kNoVictims = "No preemption victims found for incoming pod";
constexpr std::string_view kNotHelpful = "Preemption is not helpful for scheduling";
constexpr std::string_view kGroupUnschedulable = "pod group is unschedulable";
constexpr std::array<std::string_view, kDecisionResultCount> kConditionReasons = {
    "Scheduled", "Unschedulable", "SchedulerError", "SchedulerError"};

std::string available(std::size_t node_count) {
  return "0/" + std::to_string(node_count) + " nodes are available:";
}

// Sorts the texts with their counts, as kube-scheduler does: "10 x" precedes "2 y".
std::string sorted(std::vector<std::string> parts) {
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? " " : ", ").append(part);
  return text;
}

std::string counted(std::size_t count, std::string_view reason) {
  return (std::to_string(count) + " ").append(reason);
}

// "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
std::string preemption_sentence(const Refusal& refusal) {
  const FitError& nodes = refusal.nodes;
  // VolumeBinding refuses before DynamicResources has looked at the claims; its PostFilter, the first one,
  // then reports that it finds nothing, which ends the attempt.
  if (nodes.ended_by == kVolumeBinding) return "not found";
  if (refusal.preemption == Preemption::NotEligible)
    return "preemption: not eligible due to preemptionPolicy=Never.";
  if (refusal.preemption == Preemption::Waiting)
    return "preemption: not eligible due to a terminating pod on the nominated node.";
  if (refusal.preemption == Preemption::Found)
    return "preemption: found a potential placement for pod on node " + refusal.searched->node +
           ", preempting " + std::to_string(refusal.searched->victims.size()) + " victims";
  std::vector<std::string> parts;
  if (!nodes.everywhere.empty()) {
    parts.push_back(counted(refusal.node_count, kNotHelpful));
  } else {
    if (nodes.unresolvable > 0) parts.push_back(counted(nodes.unresolvable, kNotHelpful));
    const std::size_t without = refusal.searched ? refusal.searched->without_victims : nodes.unschedulable;
    if (without > 0) parts.push_back(counted(without, kNoVictims));
    if (refusal.searched)
      for (const auto& [reason, count] : refusal.searched->still) parts.push_back(counted(count, reason));
  }
  return "preemption: " + available(refusal.node_count) + sorted(std::move(parts)) + ".";
}

// Without the words about preemption.
std::string group_sentence(const GroupRefusal& group) {
  if (group.gate) return "";
  if (!group.error.empty()) return group.error;
  if (group.placements == 0) return "no feasible placements found";
  if (!group.first_status) return std::string(kGroupUnschedulable);
  const Progress& progress = group.first_progress;
  const std::string status =
      with_subjects(group.first_status->text, std::to_string(progress.minimum),
                    std::to_string(progress.scheduled), std::to_string(progress.remaining));
  if (!group.counts_placements) return status;
  return std::string(kGroupUnschedulable) + ", 0/" + std::to_string(group.placements) +
         " placements are available, first placement status: " + status;
}

std::string group_preemption(const Refusal& refusal) {
  const std::string begin = ", pod group preemption: ";
  switch (refusal.preemption) {
    case Preemption::NotTried:
      break;
    case Preemption::Waiting:
      return begin + "ongoing preemption on nominated nodes";
    case Preemption::Found:
      return begin + "found a placement for podgroup, preempting " +
             std::to_string(refusal.searched->victims.size()) + " victims";
    case Preemption::NotEligible:
      return begin + "not eligible due to preemptionPolicy=Never.";
    case Preemption::NoVictims:
      if (refusal.searched && !refusal.searched->still.empty())
        return begin + refusal.searched->still.front().first;
      return begin + "No preemption victims found for incoming preemptor";
  }
  return "";
}

}  // namespace

std::string_view condition_reason(const PodGate& gate) {
  return gate.kind == PodGate::Kind::SchedulingGates ? "SchedulingGated" : "";
}

std::string_view gate_sentence(const PodGate& gate) {
  return gate.kind == PodGate::Kind::SchedulingGates
             ? "Scheduling is blocked due to non-empty scheduling gates"
             : "";
}

std::string_view condition_reason(DecisionResult result) {
  return kConditionReasons[static_cast<std::size_t>(result)];
}

std::string fit_sentence(const FitError& nodes, std::size_t node_count) {
  if (node_count == 0) return "no nodes available to schedule pods";
  if (!nodes.everywhere.empty()) return available(node_count) + " " + nodes.everywhere + ".";
  std::vector<std::string> parts;
  for (const RefusedFor& refused : nodes.reasons) parts.push_back(counted(refused.count, refused.reason));
  return available(node_count) + sorted(std::move(parts)) + ".";
}

std::string group_words(const Refusal& refusal) {
  return group_sentence(*refusal.group);
}

std::string kubernetes_sentence(const Refusal& refusal) {
  if (refusal.result == DecisionResult::Placed) return "";
  if (refusal.group) return group_sentence(*refusal.group).append(group_preemption(refusal));
  if (!refusal.nodes.error.empty()) return refusal.nodes.error;
  std::string sentence = fit_sentence(refusal.nodes, refusal.node_count);
  if (refusal.node_count > 0 && refusal.preemption != Preemption::NotTried)
    sentence.append(" ").append(preemption_sentence(refusal));
  return sentence;
}

std::string kubernetes_sentence_of_member(const Refusal* own, const Refusal& group) {
  if (own) return kubernetes_sentence(*own);
  if (group.result == DecisionResult::Error || group.group->placements == 0)
    return group_sentence(*group.group);
  return std::string(kGroupUnschedulable) + ", " + kubernetes_sentence(group);
}

}  // namespace berth::placement
