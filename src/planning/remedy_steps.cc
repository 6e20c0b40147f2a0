#include "planning/remedy_steps.h"

#include <algorithm>

#include "api/node_names.h"

namespace berth::planning {
namespace {

using placement::RefusedFor;
using placement::RemedyKind;
using placement::RemedyStep;

// Taints that Kubernetes sets while a condition holds: nobody removes them.
constexpr std::string_view kConditionTaints = "node.kubernetes.io/";

using Labels = std::vector<std::pair<std::string, std::string>>;

bool keeps_away(const api::Pod& pod, const api::Taint& taint) {
  return taint.effect != "PreferNoSchedule" && !api::tolerates(pod.tolerations, taint);
}

void uncordon_node(api::Node& node) {
  node.unschedulable = false;
  std::erase_if(node.taints, [](const api::Taint& taint) { return taint.key == api::kUnschedulableTaint; });
}

std::optional<RemedyStep> uncordon(const api::Pod&, const RefusedFor&, api::Node& node) {
  uncordon_node(node);
  return RemedyStep{.kind = RemedyKind::Uncordon, .node = node.meta.name};
}

std::optional<RemedyStep> remove_taints(const api::Pod& pod, const RefusedFor&, api::Node& node) {
  RemedyStep step{.kind = RemedyKind::RemoveTaints, .node = node.meta.name};
  step.subjects = untolerated_taints(pod, node.taints);
  const bool possible = std::ranges::none_of(node.taints, [&](const api::Taint& taint) {
    return keeps_away(pod, taint) && taint.key.starts_with(kConditionTaints);
  });
  if (!possible || step.subjects.empty()) return std::nullopt;
  std::erase_if(node.taints, [&](const api::Taint& taint) { return keeps_away(pod, taint); });
  return step;
}

// The labels without which the requirements do not match; none where labels cannot make them match.
std::optional<Labels> labels_for(const std::vector<api::Requirement>& requirements,
                                 const api::StringMap& labels) {
  Labels missing;
  for (const api::Requirement& one : requirements) {
    if (api::matches(one, labels)) continue;
    if (one.key == api::kHostnameLabel || (one.op != "In" && one.op != "Exists")) return std::nullopt;
    missing.emplace_back(one.key, one.values.empty() ? "" : one.values.front());
  }
  return missing;
}

std::optional<RemedyStep> add_labels(const api::Pod& pod, const RefusedFor&, api::Node& node) {
  RemedyStep step{.kind = RemedyKind::AddLabels, .node = node.meta.name};
  for (const auto& [key, value] : missing_labels(pod, node)) {
    node.meta.labels[key] = value;
    step.subjects.push_back(key + "=" + value);
  }
  if (step.subjects.empty()) return std::nullopt;
  return step;
}

std::optional<RemedyStep> add_resource(const api::Pod&, const RefusedFor& why, api::Node& node) {
  const bool slots = why.row->id == "TooManyPods";
  if (!slots && (!why.lacks || !why.lacks->asked)) return std::nullopt;
  const std::string resource = slots ? "pods" : why.subject;
  RemedyStep step{.kind = RemedyKind::AddResource, .node = node.meta.name, .subjects = {resource}};
  step.more = slots ? Quantity::of(1) : why.lacks->missing;
  Quantity& amount = node.allocatable[resource];
  amount = amount + step.more;
  return step;
}

struct Cure {
  std::string_view reason;
  std::optional<RemedyStep> (*apply)(const api::Pod& pod, const RefusedFor& why, api::Node& node);
};
constexpr Cure kCures[] = {
    {"NodeUnschedulable", uncordon},           {"UntoleratedTaint", remove_taints},
    {"NodeAffinityMismatch", add_labels},      {"InsufficientResource", add_resource},
    {"InsufficientAllocatable", add_resource}, {"TooManyPods", add_resource},
};

}  // namespace

std::vector<std::string> untolerated_taints(const api::Pod& pod, const std::vector<api::Taint>& taints) {
  std::vector<std::string> texts;
  for (const api::Taint& taint : taints)
    if (keeps_away(pod, taint)) texts.push_back(api::to_text(taint));
  return texts;
}

Labels missing_labels(const api::Pod& pod, const api::Node& node) {
  std::vector<api::Requirement> selector;
  for (const auto& [key, value] : pod.node_selector) selector.push_back({key, "In", {value}});
  std::optional<Labels> missing = labels_for(selector, node.meta.labels);
  if (!missing || !pod.required_node_affinity) return missing.value_or(Labels());
  std::optional<Labels> of_terms;
  for (const api::NodeSelectorTerm& term : pod.required_node_affinity->terms) {
    std::optional<Labels> one =
        term.fields.empty() ? labels_for(term.expressions, node.meta.labels) : std::nullopt;
    if (one && (!of_terms || one->size() < of_terms->size())) of_terms = std::move(one);
  }
  if (!of_terms) return {};
  for (auto& one : *of_terms)
    if (std::ranges::find(*missing, one) == missing->end()) missing->push_back(std::move(one));
  return *std::move(missing);
}

std::optional<RemedyStep> cure(const api::Pod& pod, const RefusedFor& why, api::Node& node) {
  const auto row = std::ranges::find(kCures, why.row->id, &Cure::reason);
  return row == std::end(kCures) ? std::nullopt : row->apply(pod, why, node);
}

bool open_node(const api::Pod& pod, api::Node& node, std::vector<RemedyStep>& steps) {
  if (node.unschedulable) steps.push_back(*uncordon(pod, {}, node));
  if (untolerated_taints(pod, node.taints).empty()) return true;
  std::optional<RemedyStep> removed = remove_taints(pod, {}, node);
  if (!removed) return false;
  steps.push_back(*std::move(removed));
  return true;
}

}  // namespace berth::planning
