#include "planning/judgement.h"

#include <algorithm>

#include "dra/allocator.h"
#include "placement/claims.h"
#include "placement/plugins/dynamic_resources.h"

namespace berth::planning {
namespace {

using model::NodeId;
using placement::CycleState;

NodeVerdict verdict_of(const CycleState& state, NodeId node, NodeId chosen) {
  NodeVerdict verdict{state.context->cluster.node(node).name, chosen.valid(), "", ""};
  if (verdict.feasible) return verdict;
  const placement::FitError fit_error = placement::add_up(state.diagnosis, state.context->cluster);
  verdict.reason = fit_error.error.empty() ? fit_error.everywhere : fit_error.error;
  if (verdict.reason.empty())
    for (const placement::RefusedFor& refused : fit_error.reasons)
      verdict.reason += (verdict.reason.empty() ? "" : ", ") + refused.reason;
  // The first filter that refuses a node is the only one recorded.
  const placement::Diagnosis& diagnosis = state.diagnosis;
  verdict.plugin = diagnosis.ended_by();
  if (verdict.plugin.empty() && diagnosis.size() > 0)
    verdict.plugin = diagnosis.reason(diagnosis.row(0).reasons.front()).row->plugin;
  return verdict;
}

// Smaller is closer to a solution.
bool nearer(const dra::Certificate& a, const dra::Certificate& b) {
  return a.need - a.have < b.need - b.have;
}

std::optional<Proof> device_proof(const placement::PodCycle& cycle, CycleState& state,
                                  std::span<const NodeId> nodes) {
  const std::shared_ptr<const dra::AllocationRequest> allocation_request =
      placement::plugins::claims_of(state).allocation_request;
  if (!allocation_request) return std::nullopt;
  cycle.judge(state, nodes.first(std::min(nodes.size(), kNodesProvedMax)));
  std::optional<dra::Certificate> best;
  NodeId where;
  for (const NodeId node : state.candidates) {
    const dra::AllocationVerdict verdict =
        state.context->allocator.allocate(*allocation_request, node, dra::Explain::Words);
    const auto* no = std::get_if<dra::Impossible>(&verdict);
    if (!no || !no->certificate || (best && !nearer(*no->certificate, *best))) continue;
    best = no->certificate;
    where = node;
  }
  if (!best) return std::nullopt;
  return Proof{std::string(dra::name_of(best->kind)),
               best->claim,
               best->request,
               state.context->cluster.node(where).name,
               best->need,
               best->have,
               best->items,
               dra::to_words(*best)};
}

// One item per reason: "3 nodes: Insufficient cpu (n1, n2, n3)".
Proof nodes_proof(const model::Cluster& cluster, const placement::FitError& fit_error,
                  std::size_t node_count) {
  Proof proof{"Nodes", "", "", "", Quantity::of(1), Quantity(), {}, "none of the nodes will do"};
  if (node_count == 0) proof.words = "the cluster has no node";
  for (const placement::RefusedFor& refused : fit_error.reasons) {
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

// A reason that precedes all nodes: a claim without free consumers, a missing class.
std::optional<Proof> proof_before_nodes(const CycleState& state) {
  const api::Pod& pod = *state.pod;
  for (const api::PodClaim& named : pod.claims) {
    const api::ResourceClaim* claim =
        state.context->view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
    if (!claim) continue;
    const model::ClaimId id = state.context->cluster.find_claim(pod.meta.ns, claim->meta.name);
    const std::size_t consumers = placement::other_entries(*state.context, id, pod, named);
    if (consumers >= api::kReservedForMax) return full_claim(*claim, consumers);
    if (claim->allocation) continue;
    for (const api::DeviceRequest& request : claim->requests)
      for (const api::DeviceSubRequest& one : request.alternatives)
        if (!state.context->cluster.classes().contains(one.device_class))
          return missing_class(*claim, request, one);
  }
  return std::nullopt;
}

}  // namespace

std::vector<NodeVerdict> judge_nodes(const placement::PodCycle& cycle,
                                     const placement::SchedulingContext& context, const api::Pod& pod,
                                     std::span<const NodeId> nodes) {
  std::vector<NodeVerdict> verdicts;
  CycleState state;
  for (const NodeId& node : nodes) {
    cycle.begin(state, context, pod);
    const NodeId chosen = cycle.prepare(state) ? cycle.choose(state, {&node, 1}, {}) : NodeId::none();
    verdicts.push_back(verdict_of(state, node, chosen));
  }
  return verdicts;
}

std::optional<Proof> prove(const placement::PodCycle& cycle, CycleState& state,
                           const placement::FitError& fit_error, std::span<const NodeId> nodes) {
  if (!fit_error.everywhere.empty()) return proof_before_nodes(state);
  if (auto proof = device_proof(cycle, state, nodes)) return proof;
  return nodes_proof(state.context->cluster, fit_error, nodes.size());
}

}  // namespace berth::planning
