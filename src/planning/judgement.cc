#include "planning/judgement.h"

#include <algorithm>

#include "dra/allocator.h"
#include "scheduling/claims.h"
#include "scheduling/plugins/dynamic_resources.h"

namespace berth::planning {
namespace {

using model::NodeId;
using scheduling::Attempt;

NodeVerdict verdict_of(const Attempt& attempt, NodeId node, NodeId chosen) {
  NodeVerdict verdict{attempt.world->cluster.node(node).name, chosen.valid(), "", ""};
  if (verdict.feasible) return verdict;
  const scheduling::Refusals refusals = scheduling::add_up(attempt.diagnosis, attempt.world->cluster);
  verdict.reason = refusals.error.empty() ? refusals.everywhere : refusals.error;
  if (verdict.reason.empty())
    for (const scheduling::RefusedFor& refused : refusals.reasons)
      verdict.reason += (verdict.reason.empty() ? "" : ", ") + refused.reason;
  // The first filter that refuses a node is the only one.
  const scheduling::Diagnosis& diagnosis = attempt.diagnosis;
  verdict.plugin = diagnosis.ended_by();
  if (verdict.plugin.empty() && diagnosis.size() > 0)
    verdict.plugin = diagnosis.reason(diagnosis.row(0).reasons.front()).row->plugin;
  return verdict;
}

// Smaller is nearer to a yes.
bool nearer(const dra::Certificate& a, const dra::Certificate& b) {
  return a.need - a.have < b.need - b.have;
}

std::optional<Proof> device_proof(const scheduling::PodCycle& cycle, Attempt& attempt,
                                  std::span<const NodeId> nodes) {
  const std::shared_ptr<const dra::Ask> ask = scheduling::plugins::claims_of(attempt).ask;
  if (!ask) return std::nullopt;
  cycle.judge(attempt, nodes.first(std::min(nodes.size(), kNodesProvedMax)));
  std::optional<dra::Certificate> best;
  NodeId where;
  for (const NodeId node : attempt.candidates) {
    const dra::Verdict verdict = attempt.world->allocator.allocate(*ask, node, dra::Explain::Words);
    const auto* no = std::get_if<dra::Impossible>(&verdict);
    if (!no || !no->certificate || (best && !nearer(*no->certificate, *best))) continue;
    best = no->certificate;
    where = node;
  }
  if (!best) return std::nullopt;
  return Proof{std::string(dra::name_of(best->kind)),
               best->claim,
               best->request,
               attempt.world->cluster.node(where).name,
               best->need,
               best->have,
               best->items,
               dra::to_words(*best)};
}

// One item a reason: "3 nodes: Insufficient cpu (n1, n2, n3)".
Proof nodes_proof(const model::Cluster& cluster, const scheduling::Refusals& refusals,
                  std::size_t node_count) {
  Proof proof{"Nodes", "", "", "", Quantity::of(1), Quantity(), {}, "none of the nodes will do"};
  if (node_count == 0) proof.words = "the cluster has no node";
  for (const scheduling::RefusedFor& refused : refusals.reasons) {
    std::string item =
        std::to_string(refused.count) + (refused.count == 1 ? " node: " : " nodes: ") + refused.reason + " (";
    for (const NodeId node : refused.first)
      item += (node == refused.first.front() ? "" : ", ") + cluster.node(node).name;
    if (refused.count > refused.first.size())
      item += " and " + std::to_string(refused.count - refused.first.size()) + " more";
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

Proof full_claim(const api::ResourceClaim& claim, std::size_t consumers) {
  Proof proof{"ClaimLimit",
              claim.meta.name,
              "",
              "",
              Quantity::of(static_cast<std::int64_t>(consumers + 1)),
              Quantity::of(static_cast<std::int64_t>(api::kReservedForMax)),
              {},
              ""};
  proof.words =
      "claim " + claim.meta.name + " has " + std::to_string(consumers) + " consumers, as many as it can";
  return proof;
}

// What refuses a pod before any node: a claim without room, a missing class.
std::optional<Proof> proof_before_nodes(const Attempt& attempt) {
  const api::Pod& pod = *attempt.pod;
  for (const api::PodClaim& named : pod.claims) {
    const api::ResourceClaim* claim =
        attempt.world->view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
    if (!claim) continue;
    const model::ClaimId id = attempt.world->cluster.find_claim(pod.meta.ns, claim->meta.name);
    const std::size_t consumers = scheduling::other_consumers(*attempt.world, id, pod.meta.uid);
    if (consumers >= api::kReservedForMax) return full_claim(*claim, consumers);
    if (claim->allocation) continue;
    for (const api::DeviceRequest& request : claim->requests)
      for (const api::DeviceSubRequest& one : request.alternatives)
        if (!attempt.world->cluster.classes().contains(one.device_class))
          return missing_class(*claim, request, one);
  }
  return std::nullopt;
}

}  // namespace

std::vector<NodeVerdict> judge_nodes(const scheduling::PodCycle& cycle, const scheduling::World& world,
                                     const api::Pod& pod, std::span<const NodeId> nodes) {
  std::vector<NodeVerdict> verdicts;
  Attempt attempt;
  for (const NodeId& node : nodes) {
    cycle.begin(attempt, world, pod);
    const NodeId chosen = cycle.prepare(attempt) ? cycle.choose(attempt, {&node, 1}, {}) : NodeId::none();
    verdicts.push_back(verdict_of(attempt, node, chosen));
  }
  return verdicts;
}

std::optional<Proof> prove(const scheduling::PodCycle& cycle, Attempt& attempt,
                           const scheduling::Refusals& refusals, std::span<const NodeId> nodes) {
  if (!refusals.everywhere.empty()) return proof_before_nodes(attempt);
  if (auto proof = device_proof(cycle, attempt, nodes)) return proof;
  return nodes_proof(attempt.world->cluster, refusals, nodes.size());
}

}  // namespace berth::planning
