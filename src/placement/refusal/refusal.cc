#include "placement/refusal/refusal.h"

#include "api/types/pod.h"

namespace berth::placement {

Refusal refuse_pod(const api::Pod& pod, FitError nodes, std::size_t node_count, Preemption preemption) {
  Refusal refusal;
  refusal.of = {pod.meta.ns, pod.meta.name, EntityKind::Pod};
  refusal.result = nodes.error.empty() ? DecisionResult::Unschedulable : DecisionResult::Error;
  refusal.preemption = preemption;
  refusal.node_count = node_count;
  refusal.nodes = std::move(nodes);
  return refusal;
}

Refusal fail_pod(const api::Pod& pod, std::string error, std::string hint) {
  FitError failed;
  failed.error = std::move(error);
  failed.hint = std::move(hint);
  return refuse_pod(pod, std::move(failed), 0, Preemption::NotTried);
}

Refusal gate_group(const EntityKey& group, GroupGate gate) {
  Refusal refusal;
  refusal.of = group;
  GroupRefusal& why = refusal.group.emplace();
  if (gate.kind == GroupGate::Kind::HeldByParent) why.unproved = kFieldNotHonoured;
  why.gate = std::move(gate);
  return refusal;
}

}  // namespace berth::placement
