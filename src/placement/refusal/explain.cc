#include "placement/refusal/explain.h"

#include <algorithm>
#include <set>

#include "placement/free_resources.h"

namespace berth::placement {
namespace {

std::string amount_text(model::ResourceId resource, std::int64_t amount) {
  if (resource == model::kCpu) return Quantity::millis(amount).text();
  const bool bytes = resource == model::kMemory || resource == model::kEphemeralStorage;
  return Quantity::of(amount, bytes ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI).text();
}

// "it asks for 8; n2 comes closest with 3500m"
std::string nearest(const CycleState& state, model::ResourceId resource, NodeId best) {
  const model::Cluster& cluster = state.context->cluster;
  const api::ResourceMap requests = api::effective_requests(*state.pod);
  const auto asked = requests.find(cluster.resources().text(resource));
  const std::int64_t room = free_of(cluster.node(best), cluster.ledger().node(best), resource);
  // A pod that asks for nothing itself is refused for what its devices take, which follows.
  return (asked == requests.end() ? "" : "it asks for " + asked->second.text() + "; ") +
         cluster.node(best).name + " comes closest with " +
         amount_text(resource, std::max<std::int64_t>(0, room)) + " free";
}

std::string waits(const api::Pod& pod) {
  return "pod " + pod.meta.ns + "/" + pod.meta.name + " waits: ";
}

// The taints of the named nodes that the pod does not tolerate.
std::string taints_text(const CycleState& state, const std::vector<NodeId>& nodes) {
  std::set<std::string> texts;
  for (const NodeId node : nodes)
    for (const api::Taint& taint : state.context->cluster.node(node).live->taints)
      if (taint.effect != "PreferNoSchedule" && !api::tolerates(state.pod->tolerations, taint))
        texts.insert(taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect);
  std::string text;
  std::size_t shown = 0;
  for (const std::string& one : texts) {
    if (shown++ == kNodesNamedMax) break;
    text.append(text.empty() ? "" : ", ").append(one);
  }
  return text;
}

// What the devices of the named nodes lack: "n1: counter set … holds group mig; the device offers vgpu";
// without the name if there is one node.
std::string devices_text(const model::Cluster& cluster, const RefusedFor& refused) {
  std::string text;
  for (std::size_t i = 0; i < refused.why.size(); ++i) {
    if (refused.why[i].empty()) continue;
    text.append(text.empty() ? "" : "; ");
    if (refused.count > 1) text.append(cluster.node(refused.first[i]).name).append(": ");
    text.append(refused.why[i]);
  }
  return text;
}

// "n1, n2, n3 and 4 more"
std::string list_nodes(const model::Cluster& cluster, const RefusedFor& refused) {
  std::string text;
  for (const NodeId node : refused.first)
    text.append(text.empty() ? "" : ", ").append(cluster.node(node).name);
  if (refused.count > refused.first.size())
    text += " and " + std::to_string(refused.count - refused.first.size()) + " more";
  return text;
}

std::string clause(const CycleState& state, const RefusedFor& refused, std::size_t node_count) {
  const model::Cluster& cluster = state.context->cluster;
  const Reason& row = *refused.row;
  std::string text = std::to_string(refused.count) + " of " + std::to_string(node_count) + " nodes ";
  if (row.singular.empty())
    return text + "say: " + refused.reason + " (" + list_nodes(cluster, refused) + ")";
  text += with_subjects(refused.count == 1 ? row.singular : row.plural, refused.subject);
  std::string detail;
  if (refused.resource.valid()) {
    detail = nearest(state, refused.resource, refused.nearest);
    if (const std::string more = devices_text(cluster, refused); !more.empty()) detail += "; " + more;
  } else if (row == reason_row("UntoleratedTaint")) {
    detail = taints_text(state, refused.first);
  } else {
    detail = devices_text(cluster, refused);
  }
  text += " (" + list_nodes(cluster, refused);
  return text + (detail.empty() ? ")" : ": " + detail + ")");
}

}  // namespace

std::string explain_error(const api::Pod& pod, const std::string& hint) {
  return hint.empty() ? "" : waits(pod) + hint + ".";
}

std::string explain_pod(const CycleState& state, const FitError& fit_error, std::size_t node_count) {
  std::string text = waits(*state.pod);
  if (node_count == 0) return text + "the cluster has no node.";
  if (!fit_error.everywhere.empty()) return text + fit_error.everywhere + ".";
  bool first = true;
  for (const RefusedFor& refused : fit_error.reasons) {
    text.append(first ? "" : "; ").append(clause(state, refused, node_count));
    first = false;
  }
  return text + ".";
}

}  // namespace berth::placement
