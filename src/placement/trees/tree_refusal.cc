#include "placement/trees/tree_refusal.h"

namespace berth::placement {

Refusal refuse_tree(const TreeInput& input, DecisionResult result) {
  const TreeNode& root = input.nodes.front();
  Refusal refusal;
  refusal.of = {root.meta().ns, root.meta().name, EntityKind::CompositeGroup};
  refusal.result = result;
  if (result == DecisionResult::Unschedulable) refusal.preemption = Preemption::NoVictims;
  refusal.group.emplace();
  return refusal;
}

TreeOutcome refused_outcome(const TreeInput& input, Refusal refusal) {
  TreeOutcome outcome;
  outcome.kind =
      refusal.result == DecisionResult::Error ? GroupOutcome::Kind::Error : GroupOutcome::Kind::Unschedulable;
  outcome.refusal = std::make_shared<Refusal>(std::move(refusal));
  for (const TreeNode& node : input.nodes) {
    TreeNodeOutcome& own = outcome.nodes.emplace_back();
    own.members.resize(node.group.waiting.size());
    own.refusal = outcome.refusal;
  }
  return outcome;
}

TreeOutcome error_outcome(const TreeInput& input, std::string error) {
  Refusal refusal = refuse_tree(input, DecisionResult::Error);
  refusal.group->error = std::move(error);
  return refused_outcome(input, std::move(refusal));
}

}  // namespace berth::placement
