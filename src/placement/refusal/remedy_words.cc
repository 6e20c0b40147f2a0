#include <array>

#include "placement/refusal/berth_words.h"

namespace berth::placement {
namespace {

constexpr std::array<std::string_view, kRemedyKindCount> kRemedyNames = {
    "Uncordon", "RemoveTaints", "AddLabels", "AddResource", "Evict", "AddNode"};

std::string list_subjects(const std::vector<std::string>& subjects) {
  std::string text;
  for (const std::string& subject : subjects) text.append(text.empty() ? "" : ", ").append(subject);
  return text;
}

}  // namespace

std::string_view name_of(RemedyKind kind) {
  return kRemedyNames[static_cast<std::size_t>(kind)];
}

std::string words_of(const Remedy& remedy) {
  const std::string many = remedy.subjects.size() == 1 ? " " : "s ";
  switch (remedy.kind) {
    case RemedyKind::Uncordon:
      break;
    case RemedyKind::RemoveTaints:
      return "removing taint" + many + list_subjects(remedy.subjects) + " from " + remedy.node;
    case RemedyKind::AddLabels:
      return "the label" + many + list_subjects(remedy.subjects) + " on " + remedy.node;
    case RemedyKind::AddResource:
      return remedy.more.text() + " more " +
             (remedy.subjects.front() == "pods" ? "pod slot" : remedy.subjects.front()) + " on " +
             remedy.node;
    case RemedyKind::AddNode:
      return "one more empty node like " + remedy.node;
    case RemedyKind::Evict: {
      std::vector<std::string> pods;
      for (const auto& [pod, priority] : remedy.victims)
        pods.push_back(pod + " (priority " + std::to_string(priority) + ")");
      return "evicting " + list_pods(pods) + ", for a place on " + remedy.node;
    }
  }
  return "uncordoning " + remedy.node;
}

}  // namespace berth::placement
