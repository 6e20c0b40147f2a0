#include "scheduling/explain.h"

#include <algorithm>
#include <array>
#include <set>

#include "scheduling/claims.h"
#include "scheduling/free_resources.h"
#include "scheduling/pod_cycle.h"

namespace berth::scheduling {
namespace {

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
    {kClaimElsewhere, "cannot reach the devices of its allocated claim",
     "cannot reach the devices of its allocated claim"},
    {kSearchEnded, "was not searched to the end for devices", "were not searched to the end for devices"},
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
std::string nearest(const Attempt& attempt, std::string_view resource_name, NodeId best) {
  const model::Cluster& cluster = attempt.world->cluster;
  const model::ResourceId resource = cluster.resources().find(resource_name);
  std::int64_t asked = 0;
  for (const model::ResourceAmount& request : cluster.pod(attempt.pod_id).requests)
    if (request.resource == resource) asked = request.amount;
  const std::int64_t room = free_of(cluster.node(best), cluster.ledger().node(best), resource);
  return "it asks for " + amount_text(resource, asked) + "; " + cluster.node(best).name +
         " comes closest with " + amount_text(resource, std::max<std::int64_t>(0, room)) + " free";
}

// Of the nodes that are named.
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

// What the devices of the named nodes lack: "n1: counter set … holds group mig; the device offers vgpu"; one
// node alone stands before it already.
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

std::string clause(const Attempt& attempt, const RefusedFor& refused, std::size_t node_count) {
  const model::Cluster& cluster = attempt.world->cluster;
  const std::string& reason = refused.reason;
  const auto row = std::find_if(kWordings.begin(), kWordings.end(), [&](const Wording& wording) {
    return wording.reason == kInsufficient ? reason.starts_with(kInsufficient) : wording.reason == reason;
  });
  std::string text = std::to_string(refused.count) + " of " + std::to_string(node_count) + " nodes ";
  if (row == kWordings.end()) return text + "say: " + reason + " (" + list_nodes(cluster, refused) + ")";
  text += refused.count == 1 ? row->one : row->several;
  std::string detail;
  if (row->reason == kInsufficient) {
    const std::string resource = reason.substr(kInsufficient.size());
    text += resource;
    detail = nearest(attempt, resource, refused.nearest);
    if (const std::string more = devices_text(cluster, refused); !more.empty()) detail += "; " + more;
  } else if (reason == "node(s) had untolerated taint(s)") {
    detail = taints_text(attempt, refused.first);
  } else {
    detail = devices_text(cluster, refused);
  }
  text += " (" + list_nodes(cluster, refused);
  return text + (detail.empty() ? ")" : ": " + detail + ")");
}

}  // namespace

std::string explain_pod(const Attempt& attempt, const Refusals& refusals, std::size_t node_count) {
  const api::Pod& pod = *attempt.pod;
  std::string text = "pod " + pod.meta.ns + "/" + pod.meta.name + " waits: ";
  if (node_count == 0) return text + "the cluster has no node.";
  if (!refusals.everywhere.empty()) return text + refusals.everywhere + ".";
  bool first = true;
  for (const RefusedFor& refused : refusals.reasons) {
    text.append(first ? "" : "; ").append(clause(attempt, refused, node_count));
    first = false;
  }
  return text + ".";
}

}  // namespace berth::scheduling
