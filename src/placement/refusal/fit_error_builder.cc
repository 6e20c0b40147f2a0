#include "placement/refusal/fit_error_builder.h"

#include <algorithm>
#include <array>
#include <set>

#include "placement/free_resources.h"

namespace berth::placement {
namespace {

Quantity quantity_of(model::ResourceId resource, std::int64_t amount) {
  if (resource == model::kCpu) return Quantity::millis(amount);
  const bool bytes = resource == model::kMemory || resource == model::kEphemeralStorage;
  return Quantity::of(amount, bytes ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI);
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

FitErrorBuilder::Nodes& FitErrorBuilder::of(const KnownReason& reason) {
  if (made_.unproved.empty()) made_.unproved = reason.row->unproved;
  plugins_.insert(reason.row->plugin);
  Nodes& nodes = by_text_[reason.text];
  if (!nodes.reason || reason.row->id < nodes.reason->row->id) nodes.reason = &reason;
  return nodes;
}

void FitErrorBuilder::add_diagnosis() {
  const Diagnosis& diagnosis = state_.diagnosis;
  made_.error = diagnosis.error();
  made_.hint = diagnosis.hint();
  made_.everywhere = diagnosis.everywhere();
  made_.everywhere_row = diagnosis.everywhere_row();
  made_.ended_by = diagnosis.ended_by();
  made_.unproved = diagnosis.unproved();
  for (std::size_t i = 0; i < diagnosis.size(); ++i) {
    const Diagnosis::Row row = diagnosis.row(i);
    add(row.refusal, 1);
    for (const ReasonId reason : row.reasons) {
      Nodes& nodes = of(diagnosis.reason(reason));
      ++nodes.count;
      nodes.named.push_back(row.node);
    }
  }
}

FitError FitErrorBuilder::take(const WhyNot& why_not, AbsentLabels* labels) {
  for (auto& [text, nodes] : by_text_) {
    RefusedFor& refused = made_.reasons.emplace_back(describe(nodes, why_not));
    if (labels && *refused.row == reason_row("NodeAffinityMismatch") && no_node_matched())
      refused.absent = labels->of(state_.context->cluster, *state_.pod);
  }
  if (made_.everywhere_row) plugins_.insert(made_.everywhere_row->plugin);
  made_.plugins.assign(plugins_.begin(), plugins_.end());
  return std::move(made_);
}

RefusedFor FitErrorBuilder::describe(Nodes& nodes, const WhyNot& why_not) {
  const model::Cluster& cluster = state_.context->cluster;
  RefusedFor refused{
      nodes.reason->row, nodes.reason->text, nodes.reason->subject, nodes.count, {}, {}, {}, {}};
  if (nodes.reason->resource.valid()) refused.lacks = shortage(nodes);
  std::vector<NodeId>& named = nodes.named;
  const std::size_t shown = std::min(named.size(), kNodesNamedMax);
  std::partial_sort(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(shown), named.end(),
                    [&](NodeId a, NodeId b) { return cluster.node(a).name < cluster.node(b).name; });
  named.resize(shown);
  for (const NodeId node : named)
    refused.first.push_back({cluster.node(node).name, why_not ? why_not(*refused.row, node) : std::string()});
  if (*refused.row == reason_row("UntoleratedTaint")) refused.taints = untolerated(named);
  return refused;
}

bool FitErrorBuilder::no_node_matched() const {
  constexpr std::array<std::string_view, 3> kUpToAffinity = {"NodeUnschedulable", "TaintToleration",
                                                             "NodeAffinity"};
  return std::ranges::all_of(by_text_, [&](const auto& one) {
    return std::ranges::find(kUpToAffinity, one.second.reason->row->plugin) != kUpToAffinity.end();
  });
}

Shortage FitErrorBuilder::shortage(const Nodes& nodes) {
  const model::Cluster& cluster = state_.context->cluster;
  const model::ResourceId resource = nodes.reason->resource;
  if (!asked_) asked_ = api::effective_requests(*state_.pod);
  Shortage shortage;
  const auto asked = asked_->find(cluster.resources().text(resource));
  if (asked != asked_->end()) shortage.asked = asked->second;
  const NodeId best = nodes.nearest.valid() ? nodes.nearest : nearest(cluster, resource, nodes.named);
  const std::int64_t room = free_of(cluster.node(best), cluster.ledger().node(best), resource);
  shortage.nearest = cluster.node(best).name;
  shortage.free = quantity_of(resource, std::max<std::int64_t>(0, room));
  if (shortage.asked) shortage.missing = *shortage.asked - quantity_of(resource, room);
  return shortage;
}

std::vector<std::string> FitErrorBuilder::untolerated(const std::vector<NodeId>& nodes) const {
  std::set<std::string> texts;
  for (const NodeId node : nodes)
    for (const api::Taint& taint : state_.context->cluster.node(node).live->taints)
      if (taint.effect != "PreferNoSchedule" && !api::tolerates(state_.pod->tolerations, taint))
        texts.insert(api::to_text(taint));
  std::vector<std::string> shown(texts.begin(), texts.end());
  if (shown.size() > kNodesNamedMax) shown.resize(kNodesNamedMax);
  return shown;
}

}  // namespace berth::placement
