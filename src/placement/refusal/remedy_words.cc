#include <array>

#include "base/count_text.h"
#include "placement/refusal/berth_words.h"

namespace berth::placement {
namespace {

struct RemedyRow {
  std::string_view name;
  std::string_view tried;  // completes "Nothing helps of what was tried: …"
};
constexpr std::array<RemedyRow, kRemedyKindCount> kRemedyRows = {{
    {"Evict", "evicting pods, whatever their priority"},
    {"Uncordon", "uncordoning a node"},
    {"RemoveTaints", "removing taints of a node"},
    {"AddLabels", "adding labels to a node"},
    {"AddResource", "adding resources to a node"},
    {"AddNodes", "adding an empty node like one of these"},
    {"OtherClass", "asking for another device class"},
    {"RemoveDeviceTaint", "removing the taints of a device"},
    {"DeleteTaintRule", "deleting a DeviceTaintRule"},
    {"FewerMembers", "a smaller minimum of members"},
    {"DropTopology", "removing its topology constraint"},
}};

const RemedyRow& row_of(RemedyKind kind) {
  return kRemedyRows[static_cast<std::size_t>(kind)];
}

std::string listed(const std::vector<std::string>& texts, std::string_view separator) {
  std::string text;
  for (const std::string& one : texts) text.append(text.empty() ? "" : separator).append(one);
  return text;
}

// "1 taint a", "taints a, b"
std::string counted(const RemedyStep& step, const std::string& one) {
  return one + (step.subjects.size() == 1 ? " " : "s ") + listed(step.subjects, ", ");
}

std::string victims_text(const RemedyStep& step) {
  std::vector<std::string> pods;
  for (const auto& [pod, priority] : step.victims)
    pods.push_back(pod + " (priority " + std::to_string(priority) + ")");
  return list_pods(pods);
}

std::string amount_text(const RemedyStep& step) {
  if (step.subjects.front() == "pods") return "pod slot";
  return step.subjects.front();
}

// " of PodGroup a"; of the group that was asked about nothing.
std::string of_group(const RemedyStep& step) {
  if (step.group.empty()) return "";
  return (step.of_groups ? " of CompositePodGroup " : " of PodGroup ") + step.group;
}

std::string minimum_text(const RemedyStep& step) {
  return "a minimum of " + count_text(step.count, step.of_groups ? "group" : "member") +
         (step.group.empty() ? "" : " for" + of_group(step).substr(3));
}

std::string words_of(const RemedyStep& step) {
  switch (step.kind) {
    case RemedyKind::Evict:
      return "evicting " + victims_text(step) + (step.node.empty() ? "" : ", for a place on " + step.node);
    case RemedyKind::Uncordon:
      break;
    case RemedyKind::RemoveTaints:
      return "removing " + counted(step, "taint") + " from " + step.node;
    case RemedyKind::AddLabels:
      return "adding " + counted(step, "label") + " to " + step.node;
    case RemedyKind::AddResource:
      return step.more.text() + " more " + amount_text(step) + " on " + step.node;
    case RemedyKind::AddNodes:
      return step.count == 1 ? "one more empty node like " + step.node
                             : std::to_string(step.count) + " more empty nodes like " + step.node;
    case RemedyKind::OtherClass:
      return "asking for device class " + step.subjects.front() + " in " + step.request;
    case RemedyKind::RemoveDeviceTaint:
      return "removing " + counted(step, "taint") + " from device " + step.request;
    case RemedyKind::DeleteTaintRule:
      return "deleting DeviceTaintRule " + step.subjects.front();
    case RemedyKind::FewerMembers:
      return minimum_text(step);
    case RemedyKind::DropTopology:
      return (step.group.empty() ? "removing its topology constraint "
                                 : "removing the topology constraint ") +
             listed(step.subjects, ", ") + of_group(step);
  }
  return "uncordoning " + step.node;
}

}  // namespace

std::string_view name_of(RemedyKind kind) {
  return row_of(kind).name;
}

std::string_view tried_words(RemedyKind kind) {
  return row_of(kind).tried;
}

std::string words_of(const Remedy& remedy) {
  std::vector<std::string> steps;
  for (const RemedyStep& step : remedy.steps) steps.push_back(words_of(step));
  return listed(steps, ", and ");
}

std::string lack_words(const RemedyStep& step) {
  switch (step.kind) {
    case RemedyKind::Uncordon:
      return "it is cordoned";
    case RemedyKind::RemoveTaints:
      return "it has " + counted(step, "taint");
    case RemedyKind::AddLabels:
      return "it lacks " + counted(step, "label");
    case RemedyKind::AddResource:
      return step.more.text() + (step.subjects.front() == "pods" ? " " : " of ") + amount_text(step) +
             " short";
    default:
      return words_of(step);
  }
}

}  // namespace berth::placement
