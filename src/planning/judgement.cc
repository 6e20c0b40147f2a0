#include "planning/judgement.h"

#include "placement/refusal/fit_error_builder.h"

namespace berth::planning {
namespace {

using model::NodeId;
using placement::CycleState;

NodeVerdict verdict_of(const CycleState& state, NodeId node, NodeId chosen) {
  NodeVerdict verdict{state.context->cluster.node(node).name, chosen.valid(), "", ""};
  if (verdict.feasible) return verdict;
  placement::FitErrorBuilder builder(state);
  builder.add_diagnosis();
  const placement::FitError fit_error = builder.take(nullptr, nullptr);
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

}  // namespace

std::vector<NodeVerdict> judge_nodes(const placement::PodCycle& cycle,
                                     const placement::SchedulingContext& context, const api::Pod& pod,
                                     std::span<const NodeId> nodes, model::Ledger::Transaction& transaction) {
  std::vector<NodeVerdict> verdicts;
  CycleState state;
  for (const NodeId& node : nodes) {
    cycle.begin(state, context, pod, &transaction);
    const NodeId chosen = cycle.prepare(state) ? cycle.choose(state, {&node, 1}, {}) : NodeId::none();
    verdicts.push_back(verdict_of(state, node, chosen));
  }
  return verdicts;
}

}  // namespace berth::planning
