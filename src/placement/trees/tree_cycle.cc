#include "placement/trees/tree_cycle.h"

#include <algorithm>
#include <numeric>

#include "placement/trees/tree_placer.h"
#include "placement/trees/tree_refusal.h"
#include "placement/trees/whole_tree.h"
#include "placement/trees/wished_tree.h"
#include "placement/wishes/wish_search.h"

namespace berth::placement {

std::string tree_error(const TreeInput& input) {
  std::vector<const api::Pod*> members;
  for (const TreeNode& node : input.nodes)
    for (const auto* pods : {&node.group.waiting, &node.group.placed})
      members.insert(members.end(), pods->begin(), pods->end());
  return members_error(members, input.nodes.front().priority());
}

GroupInput as_one_group(const TreeInput& input, api::PodGroup& group) {
  const TreeNode& root = input.nodes.front();
  group.priority = root.priority();
  group.preemption_policy =
      root.composite ? root.composite->preemption_policy : root.group.group->preemption_policy;
  GroupInput all;
  all.group = &group;
  for (const TreeNode& node : input.nodes) {
    all.waiting.insert(all.waiting.end(), node.group.waiting.begin(), node.group.waiting.end());
    if (all.joins.empty()) all.joins = node.group.joins;
  }
  return all;
}

namespace {

// One call of TreeCycle::run.
class TreeRun {
 public:
  TreeRun(GroupCycle& groups, const PluginSet& plugins, TreeGrounds& grounds,
          const SchedulingContext& context, const TreeInput& input, model::Ledger::Transaction& transaction)
      : groups_(groups),
        plugins_(plugins),
        grounds_(grounds),
        context_(context),
        input_(input),
        transaction_(transaction),
        placer_(groups, plugins, grounds, context, input, transaction) {}

  TreeOutcome run() {
    if (placer_.unplaced() == 0) return refuse();
    if (placer_.has_minimum(0)) return grow_only();
    if (!placer_.is_ready(0)) return refuse_short();
    find_candidates();
    for (std::size_t i = 0; i < candidates_.size() && error_.empty(); ++i)
      if (try_ground(candidates_[i], candidates_.size() - i)) break;
    if (!error_.empty()) return error_outcome(input_, error_);
    if (results_.empty()) return refuse();
    return choose();
  }

 private:
  struct Result {
    PlacementResult result;
    TreeOutcome outcome;
    bool is_applied = false;  // the transaction has it
    model::Plan plan;         // if the transaction does not have it
  };

  const TreeNode& root() const { return input_.nodes.front(); }

  // Of the root, the highest score first if all members find room.
  void find_candidates() {
    const Ground whole = grounds_.whole_cluster();
    if (!whole.placement) return;
    if (!grounds_.chooses(0)) {
      candidates_ = {whole};
      return;
    }
    const std::size_t chain = grounds_.chain_of(0);
    const DomainUse all = placer_.requested();
    std::int32_t members = 0;
    for (const TreeNode& node : input_.nodes)
      members += node.group.scheduled + static_cast<std::int32_t>(node.group.waiting.size());
    std::vector<PlacementResult> full;
    for (const Placement* one : grounds_.candidates(0, whole)) {
      candidates_.push_back({chain, one});
      full.push_back({one, use_of_domain(*one), members, {}});
      full.back().use += all;
    }
    const std::vector<std::int64_t> totals = score(full, Scorers::KnownBeforePlacing);
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return totals[i]; });
    std::vector<Ground> sorted;
    for (const std::size_t i : order) sorted.push_back(candidates_[i]);
    candidates_ = std::move(sorted);
  }

  DomainUse use_of_domain(const Placement& placement) {
    return grounds_.topology(grounds_.chain_of(0)).use(context_.cluster, TreeGrounds::domain_of(placement));
  }

  std::vector<std::int64_t> score(std::span<const PlacementResult> results, Scorers which) {
    const TreeNode& first = *std::ranges::find_if(input_.nodes, &TreeNode::is_group);
    auto totals = placement_totals(plugins_, {context_, *first.group.group, {}, results}, which);
    if (totals) return *std::move(totals);
    error_ = totals.error().message();
    return std::vector<std::int64_t>(results.size());
  }

  // True: no other domain is tried.
  bool try_ground(const Ground& ground, std::size_t shares) {
    const auto before = transaction_.savepoint();
    if (has_tried_) placer_.reset();
    has_tried_ = true;
    const bool found = placer_.place_root(ground, shares);
    if (found)
      placer_.grow();
    else
      note_obstacle();
    error_ = placer_.error();
    if (!found || !error_.empty()) {
      transaction_.roll_back_to(before);
      return false;
    }
    const bool is_first = results_.empty();
    Result& one = results_.emplace_back();
    one.result.placement = ground.placement;
    const bool complete = placer_.unplaced() == 0;
    if (grounds_.chooses(0)) one.result.use = use_of_domain(*ground.placement);
    for (const TreeNode& node : input_.nodes) one.result.scheduled += node.group.scheduled;
    one.result.scheduled += static_cast<std::int32_t>(placer_.placed());
    one.outcome = placer_.take_outcome();
    one.is_applied = complete && is_first;
    if (!one.is_applied) one.plan = transaction_.take_since(before);
    return complete;
  }

  TreeOutcome choose() {
    std::size_t best = 0;
    if (results_.size() > 1) {
      std::vector<PlacementResult> results;
      for (const Result& one : results_) results.push_back(one.result);
      const std::vector<std::int64_t> totals = score(results, Scorers::All);
      if (!error_.empty()) return error_outcome(input_, error_);
      best = static_cast<std::size_t>(std::ranges::max_element(totals) - totals.begin());
    }
    Result& winner = results_[best];
    if (!winner.is_applied) context_.cluster.redo(winner.plan, transaction_);
    winner.outcome.kind = GroupOutcome::Kind::Placed;
    return std::move(winner.outcome);
  }

  // Too few members or children exist, or are ours.
  TreeOutcome refuse_short() {
    for (const TreeNode& node : input_.nodes)
      if (std::string error = foreign_error(node.group); !error.empty())
        return error_outcome(input_, std::move(error));
    return refuse();
  }

  TreeOutcome grow_only() {
    const auto before = transaction_.savepoint();
    placer_.grow();
    if (!placer_.error().empty()) {
      transaction_.roll_back_to(before);
      return error_outcome(input_, placer_.error());
    }
    const bool placed = placer_.placed() > 0;
    TreeOutcome outcome = placer_.take_outcome();
    outcome.kind = placed ? GroupOutcome::Kind::Placed : GroupOutcome::Kind::Unschedulable;
    if (!placed)
      outcome.refusal = std::make_shared<Refusal>(refuse_tree(input_, DecisionResult::Unschedulable));
    return outcome;
  }

  void note_obstacle() {
    if (unproved_.empty()) unproved_ = placer_.unproved();
    const std::optional<TreeObstacle>& one = placer_.obstacle();
    if (!one) return;
    const bool closer = !obstacle_ || one->node > obstacle_->node ||
                        (one->node == obstacle_->node && one->spare > obstacle_->spare);
    if (closer) obstacle_ = one;
  }

  // The label key of the domains that the node chooses from.
  const std::string& level_of(std::size_t node) const {
    return grounds_.topology(grounds_.chain_of(node)).tree().keys().back();
  }

  StuckGroup stuck_group(const TreeObstacle& obstacle) const {
    const TreeNode& node = input_.nodes[obstacle.node];
    StuckGroup stuck{node.meta().name, !node.is_group(), placer_.asks(obstacle.node), {}, {}, {}};
    if (grounds_.chooses(obstacle.node)) stuck.topology_key = level_of(obstacle.node);
    if (!obstacle.nearest.placement) return stuck;
    stuck.nearest = obstacle.nearest.placement->name;
    if (obstacle.spare < 0) stuck.room = std::max<std::int64_t>(0, stuck.needed + obstacle.spare);
    return stuck;
  }

  // The group that came closest has its own words.
  TreeOutcome refuse() {
    Refusal refusal = refuse_tree(input_, DecisionResult::Unschedulable);
    GroupRefusal& group = *refusal.group;
    group.needed = std::max<std::int64_t>(1, placer_.asks(0));
    group.placements = candidates_.size();
    if (grounds_.chooses(0)) {
      group.topology_key = level_of(0);
      group.unlabelled = grounds_.topology(grounds_.chain_of(0)).tree().unlabelled_count();
    } else {
      group.placements = std::max<std::size_t>(1, candidates_.size());
    }
    if (obstacle_ && obstacle_->node > 0) group.stuck = stuck_group(*obstacle_);
    if (obstacle_ && obstacle_->node == 0 && obstacle_->nearest.placement) {
      group.nearest = obstacle_->nearest.placement->name;
      group.nearest_room = std::max<std::int64_t>(0, group.needed + obstacle_->spare);
      if (unproved_.empty() && group.nearest_room < group.needed)
        group.proof = GroupProof{group.needed, group.nearest_room, {}, {}};
    }
    group.tried = candidates_.size();
    group.first_status = &plugins_.placement_state->reason();
    group.first_progress.minimum = root().minimum();
    group.unproved = unproved_;
    TreeOutcome outcome = refused_outcome(input_, std::move(refusal));
    if (!obstacle_ || !obstacle_->nearest.placement) return outcome;
    const TreeNode& node = input_.nodes[obstacle_->node];
    if (!node.is_group()) return outcome;
    const GroupTrial trial{*obstacle_->nearest.placement,
                           1,
                           GroupEffort::InOrder,
                           SIZE_MAX,
                           grounds_.topology_of(obstacle_->nearest),
                           true};
    GroupOutcome own = groups_.refuse_on(context_, node.group, trial, transaction_);
    outcome.nodes[obstacle_->node].members = std::move(own.members);
    outcome.nodes[obstacle_->node].refusal = std::move(own.refusal);
    return outcome;
  }

  GroupCycle& groups_;
  const PluginSet& plugins_;
  TreeGrounds& grounds_;
  const SchedulingContext& context_;
  const TreeInput& input_;
  model::Ledger::Transaction& transaction_;
  TreePlacer placer_;
  bool has_tried_ = false;
  std::vector<Ground> candidates_;
  std::vector<Result> results_;
  std::optional<TreeObstacle> obstacle_;
  std::string_view unproved_;
  std::string error_;
};

// The groups at the node and below it as one.
struct AllBelow {
  GroupInput group;
  std::vector<MemberOutcome> members;
};

AllBelow all_below(const TreeInput& input, const TreeOutcome& outcome, std::size_t node) {
  AllBelow all;
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  std::vector<std::size_t> below{node};
  for (std::size_t i = 0; i < below.size(); ++i) {
    const TreeNode& one = input.nodes[below[i]];
    append(all.group.waiting, one.group.waiting);
    append(all.group.placed, one.group.placed);
    append(all.group.occupied, one.group.occupied);
    append(all.members, outcome.nodes[below[i]].members);
    append(below, one.children);
  }
  return all;
}

void report_wishes(const SchedulingContext& context, const TreeInput& input, TreeOutcome& outcome) {
  for (std::size_t node = 0; node < input.nodes.size(); ++node) {
    const TreeNode& one = input.nodes[node];
    const GroupWishPtr& wish = one.is_group() ? one.group.wish : one.wish;
    TreeNodeOutcome& own = outcome.nodes[node];
    if (!wish || !own.placed) continue;
    AllBelow all = all_below(input, outcome, node);
    own.wish = reached_by(*wish, placed_members(context.cluster, all.group, all.members));
    if (!wish->same_devices) continue;
    all.group.wish = wish;
    const auto values = SameDevices(context, all.group).common(all.members);
    if (values) own.wish->same_values = SameDevices::texts(*values);
  }
}

// Groups with domains of their own have contiguous ranks inside these.
TreeInput with_ranks(const TreeInput& input) {
  TreeInput ranked = input;
  GroupWish wish;
  wish.policy = input.nodes.front().wish->policy;
  wish.contiguous_ranks = true;
  const auto shared = std::make_shared<const GroupWish>(std::move(wish));
  for (TreeNode& node : ranked.nodes)
    if (node.is_group() && !node.group.wish) node.group.wish = shared;
  return ranked;
}

}  // namespace

const PluginSet& TreeCycle::plugins_of(const TreeInput& input) const {
  const auto any =
      std::ranges::find_if(input.nodes, [](const TreeNode& node) { return !node.group.waiting.empty(); });
  return any == input.nodes.end() ? profiles_.first() : profiles_.of(*any->group.waiting.front());
}

TreeGrounds TreeCycle::grounds_of(const SchedulingContext& context, const TreeInput& input) {
  return {plugins_of(input), domains_, context, input, placements_};
}

TreeOutcome TreeCycle::run(const SchedulingContext& context, const TreeInput& input,
                           model::Ledger::Transaction& transaction) {
  if (std::string error = tree_error(input); !error.empty()) return error_outcome(input, std::move(error));
  const GroupWish* const wish = input.nodes.front().wish.get();
  TreeOutcome outcome;
  if (is_placed_as_one(input))
    outcome = WholeTree(groups_, domains_, placements_, context, input, transaction).run();
  else
    outcome = run_by_wish(plugins_of(input), context,
                          wish && wish->contiguous_ranks ? with_ranks(input) : input, transaction);
  if (outcome.kind == GroupOutcome::Kind::Placed) report_wishes(context, input, outcome);
  return outcome;
}

TreeOutcome TreeCycle::run_by_wish(const PluginSet& plugins, const SchedulingContext& context,
                                   const TreeInput& input, model::Ledger::Transaction& transaction) {
  return WishedTree(plugins, domains_, placements_, context, input, transaction,
                    [&](TreeGrounds& grounds) {
                      return TreeRun(groups_, plugins, grounds, context, input, transaction).run();
                    })
      .run();
}

}  // namespace berth::placement
