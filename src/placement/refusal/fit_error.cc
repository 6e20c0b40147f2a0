#include "placement/refusal/fit_error.h"

#include <algorithm>

#include "placement/free_resources.h"

namespace berth::placement {
namespace {

constexpr std::string_view kNoVictims = "No preemption victims found for incoming pod";
constexpr std::string_view kNotHelpful = "Preemption is not helpful for scheduling";

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

std::string counted(std::uint32_t count, std::string_view reason) {
  return (std::to_string(count) + " ").append(reason);
}

// The node with most of the resource free; the first by name.
NodeId nearest(const model::Cluster& cluster, model::ResourceId resource, const std::vector<NodeId>& nodes) {
  const auto room = [&](NodeId node) {
    return free_of(cluster.node(node), cluster.ledger().node(node), resource);
  };
  return *std::min_element(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    const std::int64_t left = room(a), right = room(b);
    return left != right ? left > right : cluster.node(a).name < cluster.node(b).name;
  });
}

}  // namespace

std::vector<RefusedNodes> FitError::named(const model::Cluster& cluster) const {
  std::vector<RefusedNodes> refused;
  for (const RefusedFor& entry : reasons) {
    RefusedNodes& row = refused.emplace_back();
    row.plugin = entry.row->plugin;
    row.reason = entry.reason;
    row.count = entry.count;
    for (std::size_t i = 0; i < entry.first.size(); ++i)
      row.examples.push_back(
          {cluster.node(entry.first[i]).name, i < entry.why.size() ? entry.why[i] : std::string()});
  }
  return refused;
}

std::string FitError::fit_sentence(std::size_t node_count) const {
  if (node_count == 0) return "no nodes available to schedule pods";
  if (!everywhere.empty()) return available(node_count) + " " + everywhere + ".";
  std::vector<std::string> parts;
  for (const RefusedFor& entry : reasons) parts.push_back(counted(entry.count, entry.reason));
  return available(node_count) + sorted(std::move(parts)) + ".";
}

std::string FitError::preemption_sentence(std::size_t node_count, std::string_view preemption_policy) const {
  // VolumeBinding refuses before DynamicResources has looked at the claims; its PostFilter, the first one,
  // then reports that it finds nothing, which ends the attempt.
  if (ended_by == kVolumeBinding) return "not found";
  if (preemption_policy == "Never") return "preemption: not eligible due to preemptionPolicy=Never.";
  std::vector<std::string> parts;
  if (!everywhere.empty()) {
    parts.push_back(counted(static_cast<std::uint32_t>(node_count), kNotHelpful));
  } else {
    if (unresolvable > 0) parts.push_back(counted(unresolvable, kNotHelpful));
    if (unschedulable > 0) parts.push_back(counted(unschedulable, kNoVictims));
  }
  return "preemption: " + available(node_count) + sorted(std::move(parts)) + ".";
}

void RefusedFor::note(const KnownReason& known) {
  if (row && row->id <= known.row->id) return;
  row = known.row;
  reason = known.text;
  subject = known.subject;
  resource = known.resource;
}

FitError add_up(const Diagnosis& diagnosis, const model::Cluster& cluster) {
  FitError fit_error{diagnosis.error(),    diagnosis.hint(),    diagnosis.everywhere(), 0, 0, {},
                     diagnosis.ended_by(), diagnosis.unproved()};
  std::map<std::string_view, RefusedFor> by_text;
  std::map<std::string_view, std::vector<NodeId>> nodes;
  for (std::size_t i = 0; i < diagnosis.size(); ++i) {
    const Diagnosis::Row row = diagnosis.row(i);
    ++(row.refusal == FilterStatus::UnschedulableAndUnresolvable ? fit_error.unresolvable
                                                                 : fit_error.unschedulable);
    for (const ReasonId reason : row.reasons) {
      const KnownReason& known = diagnosis.reason(reason);
      nodes[known.text].push_back(row.node);
      by_text[known.text].note(known);
    }
  }
  for (auto& [text, list] : nodes) {
    RefusedFor& entry = fit_error.reasons.emplace_back(std::move(by_text[text]));
    entry.count = static_cast<std::uint32_t>(list.size());
    if (entry.resource.valid()) entry.nearest = nearest(cluster, entry.resource, list);
    const auto named = list.begin() + static_cast<std::ptrdiff_t>(std::min(list.size(), kNodesNamedMax));
    std::partial_sort(list.begin(), named, list.end(),
                      [&](NodeId a, NodeId b) { return cluster.node(a).name < cluster.node(b).name; });
    entry.first.assign(list.begin(), named);
  }
  return fit_error;
}

}  // namespace berth::placement
