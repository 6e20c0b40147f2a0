#include "placement/trees/tree_cycle.h"

namespace berth::placement {

TreeOutcome TreeCycle::run(const SchedulingContext& context, const TreeInput& input,
                           model::Ledger::Transaction& transaction) {
  TreeOutcome outcome;
  const auto before = transaction.savepoint();
  for (const TreeNode& node : input.nodes) {
    TreeNodeOutcome& own = outcome.nodes.emplace_back();
    if (!node.is_group() || node.group.waiting.empty()) continue;
    GroupOutcome group = groups_.run(context, node.group, transaction);
    own.placed = group.kind == GroupOutcome::Kind::Placed;
    own.placement = std::move(group.placement);
    own.members = std::move(group.members);
    own.refusal = std::move(group.refusal);
    if (own.placed) continue;
    transaction.roll_back_to(before);
    outcome.kind = group.kind;
    outcome.refusal = own.refusal;
    return outcome;
  }
  outcome.kind = GroupOutcome::Kind::Placed;
  return outcome;
}

std::string tree_error(const TreeInput&) {
  return {};
}

}  // namespace berth::placement
