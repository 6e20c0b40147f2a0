#include "planning/judgement.h"

#include <algorithm>
#include <array>

#include "dra/allocator.h"

namespace berth::planning {
namespace {

using model::NodeId;
using scheduling::Attempt;

constexpr std::string_view kNoDevices = "cannot allocate all claims";
constexpr std::string_view kInvalidPools = "invalid resource pools were encountered";

struct PluginOfReason {
  std::string_view reason_prefix;
  std::string_view plugin;
};

// Every reason names its plugin; what is not listed is about claims.
constexpr std::array<PluginOfReason, 8> kPlugins = {{
    {"Insufficient ", "NodeResourcesFit"},
    {"Too many pods", "NodeResourcesFit"},
    {"node(s) didn't match Pod's node affinity/selector", "NodeAffinity"},
    {"node(s) didn't satisfy plugin(s) [NodeAffinity]", "NodeAffinity"},
    {"node(s) didn't match the requested node name", "NodeName"},
    {"node(s) had untolerated taint(s)", "TaintToleration"},
    {"node(s) were unschedulable", "NodeUnschedulable"},
    {"", "DynamicResources"},
}};

std::string_view plugin_of(std::string_view reason) {
  for (const PluginOfReason& row : kPlugins)
    if (reason.starts_with(row.reason_prefix)) return row.plugin;
  return kPlugins.back().plugin;
}

NodeVerdict verdict_of(const Attempt& attempt, NodeId node, NodeId chosen) {
  NodeVerdict verdict{attempt.world->cluster.node(node).name, chosen.valid(), "", ""};
  if (verdict.feasible) return verdict;
  const scheduling::Diagnosis& diagnosis = attempt.diagnosis;
  if (!diagnosis.error().empty()) {
    verdict.reason = diagnosis.error();
  } else if (diagnosis.refused_everywhere()) {
    verdict.reason = diagnosis.everywhere();
  } else {
    for (const auto& [reason, count] : diagnosis.counts())
      verdict.reason += (verdict.reason.empty() ? "" : ", ") + reason;
  }
  verdict.plugin = plugin_of(verdict.reason);
  return verdict;
}

// Smaller is nearer to a yes.
bool nearer(const dra::Certificate& a, const dra::Certificate& b) {
  return a.need - a.have < b.need - b.have;
}

std::optional<Proof> device_proof(const Attempt& attempt) {
  if (!attempt.ask) return std::nullopt;
  std::vector<NodeId> nodes = attempt.diagnosis.nodes_with(kNoDevices);
  const std::vector<NodeId> invalid = attempt.diagnosis.nodes_with(kInvalidPools);
  nodes.insert(nodes.end(), invalid.begin(), invalid.end());
  const auto name_of = [&](NodeId node) { return attempt.world->cluster.node(node).name; };
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return name_of(a) < name_of(b); });
  nodes.resize(std::min(nodes.size(), kNodesProvedMax));
  std::optional<dra::Certificate> best;
  std::string where;
  for (const NodeId node : nodes) {
    const dra::Verdict verdict = attempt.world->allocator.allocate(*attempt.ask, node, dra::Explain::Words);
    const auto* no = std::get_if<dra::Impossible>(&verdict);
    if (!no || !no->certificate || (best && !nearer(*no->certificate, *best))) continue;
    best = no->certificate;
    where = name_of(node);
  }
  if (!best) return std::nullopt;
  return Proof{std::string(dra::name_of(best->kind)),
               best->claim,
               best->request,
               where,
               best->need,
               best->have,
               best->items,
               dra::to_words(*best)};
}

// "3 nodes: Insufficient cpu (n1, n2, n3)"
Proof nodes_proof(const Attempt& attempt, std::size_t node_count) {
  Proof proof{"Nodes", "", "", "", Quantity::of(1), Quantity(), {}, "none of the nodes will do"};
  if (node_count == 0) proof.words = "the cluster has no node";
  for (const auto& [reason, count] : attempt.diagnosis.counts()) {
    std::vector<std::string> names;
    for (const NodeId node : attempt.diagnosis.nodes_with(reason))
      names.push_back(attempt.world->cluster.node(node).name);
    std::sort(names.begin(), names.end());
    std::string item = std::to_string(count) + (count == 1 ? " node: " : " nodes: ") + reason + " (";
    for (std::size_t i = 0; i < std::min(names.size(), dra::kCertificateItemsMax); ++i)
      item += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > dra::kCertificateItemsMax) item += ", …";
    proof.items.push_back(item + ")");
  }
  return proof;
}

Proof missing_class(const api::ResourceClaim& claim, const api::DeviceRequest& request,
                    const api::DeviceSubRequest& one) {
  Proof proof{"Class", claim.meta.name, one.name, "", Quantity::of(1), Quantity(), {one.device_class}, ""};
  if (request.prioritized) proof.request = request.name + "/" + one.name;
  proof.words = "device class " + one.device_class + " does not exist";
  return proof;
}

// A missing class refuses the pod before any node.
std::optional<Proof> class_proof(const Attempt& attempt) {
  const model::Cluster& cluster = attempt.world->cluster;
  for (const scheduling::ClaimChoice& choice : attempt.claims) {
    const auto& live = cluster.claim(choice.claim).live;
    if (!live || choice.allocation) continue;
    for (const api::DeviceRequest& request : live->requests)
      for (const api::DeviceSubRequest& one : request.alternatives)
        if (!cluster.classes().contains(one.device_class)) return missing_class(*live, request, one);
  }
  return std::nullopt;
}

}  // namespace

std::vector<NodeVerdict> judge_nodes(const scheduling::PodCycle& cycle, const scheduling::World& world,
                                     const api::Pod& pod, std::span<const NodeId> nodes) {
  std::vector<NodeVerdict> verdicts;
  Attempt attempt;
  for (const NodeId& node : nodes) {
    cycle.begin(attempt, world, pod, {&node, 1}, {});
    const NodeId chosen = cycle.choose(attempt);
    verdicts.push_back(verdict_of(attempt, node, chosen));
  }
  return verdicts;
}

std::optional<Proof> prove(const Attempt& attempt, std::size_t node_count) {
  if (attempt.diagnosis.refused_everywhere()) return class_proof(attempt);
  if (auto proof = device_proof(attempt)) return proof;
  return nodes_proof(attempt, node_count);
}

}  // namespace berth::planning
