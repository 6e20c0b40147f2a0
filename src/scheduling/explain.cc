#include "scheduling/explain.h"

#include <algorithm>
#include <array>
#include <set>

#include "scheduling/plugins/node_resources.h"
#include "scheduling/pod_cycle.h"

namespace berth::scheduling {
namespace {

constexpr std::string_view kInsufficient = "Insufficient ";

// How Kubernetes' reason reads in a sentence about one node and about several.
struct Wording {
  std::string_view reason;
  std::string_view one;
  std::string_view several;
};

constexpr std::array<Wording, 12> kWordings = {{
    {"Too many pods", "runs as many pods as it may", "run as many pods as they may"},
    {"cannot allocate all claims", "has no devices for its claims", "have no devices for its claims"},
    {"invalid resource pools were encountered", "offers device pools that break the rules",
     "offer device pools that break the rules"},
    {"node(s) didn't match Pod's node affinity/selector", "does not match its node selector or affinity",
     "do not match its node selector or affinity"},
    {"node(s) didn't match the requested node name", "is not the node it names", "are not the node it names"},
    {"node(s) didn't satisfy plugin(s) [NodeAffinity]", "is not among the nodes its affinity names",
     "are not among the nodes its affinity names"},
    {"node(s) had untolerated taint(s)", "has a taint it does not tolerate",
     "have a taint it does not tolerate"},
    {"node(s) were unschedulable", "is cordoned", "are cordoned"},
    {"resourceclaim not available on the node", "cannot reach the devices of its allocated claim",
     "cannot reach the devices of its allocated claim"},
    {"timed out trying to allocate devices", "was not searched to the end for devices",
     "were not searched to the end for devices"},
    {kAvoidedReason, "is avoided for a while after a failed binding",
     "are avoided for a while after a failed binding"},
    {kInsufficient, "lacks ", "lack "},
}};

std::string amount_text(model::ResourceId resource, std::int64_t amount) {
  if (resource == model::kCpu) return Quantity::millis(amount).text();
  const bool bytes = resource == model::kMemory || resource == model::kEphemeralStorage;
  return Quantity::of(amount, bytes ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI).text();
}

// "it asks for 8; n2 comes closest with 3500m"
std::string nearest(const Attempt& attempt, std::string_view resource_name,
                    const std::vector<NodeId>& nodes) {
  const model::Cluster& cluster = attempt.world->cluster;
  const model::ResourceId resource = cluster.resources().find(resource_name);
  std::int64_t asked = 0;
  for (const model::ResourceAmount& request : cluster.pod(attempt.pod_id).requests)
    if (request.resource == resource) asked = request.amount;
  const auto room = [&](NodeId node) {
    return plugins::free_of(cluster.node(node), cluster.ledger().node(node), resource);
  };
  const NodeId best =
      *std::max_element(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return room(a) < room(b); });
  return "it asks for " + amount_text(resource, asked) + "; " + cluster.node(best).name +
         " comes closest with " + amount_text(resource, std::max<std::int64_t>(0, room(best))) + " free";
}

std::string taints_text(const Attempt& attempt, const std::vector<NodeId>& nodes) {
  std::set<std::string> texts;
  for (const NodeId node : nodes)
    for (const api::Taint& taint : attempt.world->cluster.node(node).live->taints)
      if (taint.effect != "PreferNoSchedule" && !api::tolerates(attempt.pod->tolerations, taint))
        texts.insert(taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect);
  std::string text;
  std::size_t shown = 0;
  for (const std::string& one : texts) {
    if (shown++ == kNodesNamedMax) break;
    text.append(text.empty() ? "" : ", ").append(one);
  }
  return text;
}

// What the devices of the first nodes lack: "n1: counter set … holds group mig; the device offers vgpu"; one
// node alone stands before it already.
std::string devices_text(const Attempt& attempt, const PluginSet& plugins, const std::vector<NodeId>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kNodesExplainedMax); ++i)
    for (const auto& filter : plugins.costly_filters) {
      if (!filter->wanted(attempt)) continue;
      const std::string why = filter->explain(attempt, nodes[i]);
      if (why.empty()) continue;
      text.append(text.empty() ? "" : "; ");
      if (nodes.size() > 1) text.append(attempt.world->cluster.node(nodes[i]).name).append(": ");
      text.append(why);
    }
  return text;
}

std::string clause(const Attempt& attempt, const PluginSet& plugins, const std::string& reason,
                   const std::vector<NodeId>& nodes, std::size_t node_count) {
  const auto row = std::find_if(kWordings.begin(), kWordings.end(), [&](const Wording& wording) {
    return wording.reason == kInsufficient ? reason.starts_with(kInsufficient) : wording.reason == reason;
  });
  std::string text = std::to_string(nodes.size()) + " of " + std::to_string(node_count) + " nodes ";
  if (row == kWordings.end())
    return text + "say: " + reason + " (" + list_nodes(attempt.world->cluster, nodes) + ")";
  text += nodes.size() == 1 ? row->one : row->several;
  std::string detail;
  if (row->reason == kInsufficient) {
    const std::string resource = reason.substr(kInsufficient.size());
    text += resource;
    detail = nearest(attempt, resource, nodes);
  } else if (reason == "node(s) had untolerated taint(s)") {
    detail = taints_text(attempt, nodes);
  } else if (reason == "cannot allocate all claims") {
    detail = devices_text(attempt, plugins, nodes);
  }
  text += " (" + list_nodes(attempt.world->cluster, nodes);
  return text + (detail.empty() ? ")" : ": " + detail + ")");
}

}  // namespace

std::string list_nodes(const model::Cluster& cluster, const std::vector<NodeId>& nodes) {
  std::vector<std::string_view> names;
  for (const NodeId node : nodes) names.push_back(cluster.node(node).name);
  std::sort(names.begin(), names.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNodesNamedMax); ++i)
    text.append(text.empty() ? "" : ", ").append(names[i]);
  if (names.size() > kNodesNamedMax)
    text += " and " + std::to_string(names.size() - kNodesNamedMax) + " more";
  return text;
}

std::string explain_pod(const Attempt& attempt, const PluginSet& plugins, std::size_t node_count) {
  const api::Pod& pod = *attempt.pod;
  std::string text = "pod " + pod.meta.ns + "/" + pod.meta.name + " waits: ";
  if (node_count == 0) return text + "the cluster has no node.";
  if (attempt.diagnosis.refused_everywhere()) return text + attempt.diagnosis.everywhere() + ".";
  std::string clauses;
  for (const auto& [reason, count] : attempt.diagnosis.counts()) {
    const std::vector<NodeId> nodes = attempt.diagnosis.nodes_with(reason);
    clauses.append(clauses.empty() ? "" : "; ").append(clause(attempt, plugins, reason, nodes, node_count));
  }
  return text + clauses + ".";
}

}  // namespace berth::scheduling
