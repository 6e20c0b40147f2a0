#include "placement/trees/wished_tree.h"

#include <algorithm>

#include "placement/trees/tree_refusal.h"
#include "placement/trees/whole_tree.h"
#include "placement/wishes/wish_levels.h"

namespace berth::placement {
namespace {

std::vector<MemberOutcome> members_of_all(const TreeOutcome& outcome) {
  std::vector<MemberOutcome> all;
  for (const TreeNodeOutcome& node : outcome.nodes)
    all.insert(all.end(), node.members.begin(), node.members.end());
  return all;
}

}  // namespace

WishedTree::WishedTree(const PluginSet& plugins, DomainIndex& domains, Placements placements,
                       const SchedulingContext& context, const TreeInput& input,
                       model::Ledger::Transaction& transaction, PlaceTree place_tree)
    : plugins_(plugins),
      domains_(domains),
      placements_(placements),
      context_(context),
      input_(input),
      transaction_(transaction),
      place_tree_(std::move(place_tree)) {
  const GroupWish* const wish = input.nodes.front().wish.get();
  if (!wish || !wish->same_devices) return;
  all_ = whole_tree_input(input, group_);
  same_.emplace(context, *all_);
  const TreeNeed root = needs_of(input).front();
  needed_ = root.ready ? root.asks : 0;
}

std::vector<std::size_t> WishedTree::wished_levels() const {
  const TreeNode& root = input_.nodes.front();
  const GroupWish* const wish = root.own_wish();
  if (!wish) return {0};
  const WishLevels levels(root.topology_keys(), *wish, placements_, domains_, context_.cluster);
  std::vector<std::size_t> wished;
  for (const WishRung& rung : levels.rungs()) wished.push_back(levels.levels_of(rung));
  return wished;
}

TreeOutcome WishedTree::run() {
  const std::vector<std::size_t> wished = wished_levels();
  if (wished.size() == 1 && !same_) {
    TreeGrounds grounds(plugins_, domains_, context_, input_, placements_, wished.front());
    return grounds.error().empty() ? place_tree_(grounds) : error_outcome(input_, grounds.error());
  }
  for (const std::size_t levels : wished)
    if (!try_level(levels)) break;
  if (!best_ && error_.empty()) return refuse_by_devices();
  if (!best_) return error_outcome(input_, error_);
  if (best_->kind == GroupOutcome::Kind::Placed) context_.cluster.redo(plan_, transaction_);
  if (best_->kind == GroupOutcome::Kind::Unschedulable && same_) return refuse_by_devices();
  return *std::move(best_);
}

bool WishedTree::try_level(std::size_t levels) {
  if (!same_) return try_values(levels, nullptr);
  std::vector<SameDevices::Values> sets = same_->sets(needed_);
  proves_ &= same_->complete() && sets.size() <= kTreeValueSetsTriedMax;
  sets.resize(std::min(sets.size(), kTreeValueSetsTriedMax));
  return std::ranges::all_of(sets,
                             [&](const SameDevices::Values& values) { return try_values(levels, &values); });
}

bool WishedTree::try_values(std::size_t levels, const SameDevices::Values* values) {
  const auto before = transaction_.savepoint();
  TreeGrounds grounds(plugins_, domains_, context_, input_, placements_, levels);
  if (!grounds.error().empty()) {
    error_ = grounds.error();
    return true;
  }
  if (values) same_->hide_others(*values, transaction_);
  TreeOutcome outcome = place_tree_(grounds);
  model::Plan plan = transaction_.take_since(before);
  if (outcome.kind == GroupOutcome::Kind::Error) {
    best_ = std::move(outcome);
    return false;
  }
  if (outcome.kind == GroupOutcome::Kind::Unschedulable && outcome.refusal)
    proves_ &= outcome.refusal->group->unproved.empty();
  if (values && outcome.kind == GroupOutcome::Kind::Placed && !same_->common(members_of_all(outcome))) {
    proves_ = false;
    return true;
  }
  SameDevices::show_again(plan);
  return keep_if_better(std::move(outcome), std::move(plan));
}

bool WishedTree::keep_if_better(TreeOutcome outcome, model::Plan plan) {
  std::int64_t left = 0;
  for (const TreeNodeOutcome& node : outcome.nodes)
    left += std::ranges::count_if(node.members, [](const MemberOutcome& one) { return !one.node.valid(); });
  const bool better = !best_ || best_->kind != GroupOutcome::Kind::Placed || left < best_left_;
  if (better) {
    best_ = std::move(outcome);
    best_left_ = left;
    plan_ = std::move(plan);
  }
  return best_->kind != GroupOutcome::Kind::Placed || best_left_ > 0;
}

TreeOutcome WishedTree::refuse_by_devices() {
  Refusal refusal = refuse_tree(input_, DecisionResult::Unschedulable);
  GroupRefusal& group = *refusal.group;
  if (best_ && best_->refusal) group = *best_->refusal->group;
  group.needed = std::max<std::int64_t>(1, needed_);
  group.first_status = &plugins_.placement_state->reason();
  group.first_progress.minimum = input_.nodes.front().minimum();
  group.wish.emplace();
  group.wish->members = needed_;
  group.wish->attribute = input_.nodes.front().own_wish()->same_devices->attribute;
  group.wish->values = same_->value_count();
  group.unproved = proves_ ? std::string_view() : kSearchBudgetEnded;
  return refused_outcome(input_, std::move(refusal));
}

}  // namespace berth::placement
