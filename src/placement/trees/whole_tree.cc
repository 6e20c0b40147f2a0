#include "placement/trees/whole_tree.h"

#include <algorithm>

#include "placement/trees/tree_refusal.h"
#include "placement/wishes/wish_search.h"

namespace berth::placement {

bool any_level_below_root(const TreeInput& input) {
  return std::any_of(input.nodes.begin() + 1, input.nodes.end(),
                     [](const TreeNode& node) { return !node.topology_keys().empty() || node.own_wish(); });
}

bool is_placed_as_one(const TreeInput& input) {
  const GroupWish* const wish = input.nodes.front().wish.get();
  const bool is_about_all = wish && (wish->segments || wish->contiguous_ranks || wish->same_devices ||
                                     wish->distribution == WishDistribution::Balanced);
  return is_about_all && !any_level_below_root(input);
}

GroupInput whole_tree_input(const TreeInput& input, api::PodGroup& group) {
  const TreeNode& root = input.nodes.front();
  GroupInput all = as_one_group(input, group);
  group.meta = root.meta();
  group.topology_keys = root.topology_keys();
  group.gang_min = static_cast<std::int32_t>(all.waiting.size());
  all.wish = root.wish;
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const TreeNode& node : input.nodes) {
    append(all.placed, node.group.placed);
    append(all.occupied, node.group.occupied);
    append(all.recorded, node.group.recorded);
    all.avoid.insert(node.group.avoid.begin(), node.group.avoid.end());
  }
  return all;
}

bool needs_all_members(const TreeInput& input) {
  const TreeNeed root = needs_of(input).front();
  std::int64_t waiting = 0;
  for (const TreeNode& node : input.nodes) waiting += std::ssize(node.group.waiting);
  return root.ready && root.asks == waiting;
}

// The node, and those below it of which it needs the minimum.
TreeMinima::Choices TreeMinima::choices(std::size_t node) const {
  Choices found;
  Nodes chosen{node};
  const std::int64_t needed = input_.nodes[node].is_group() ? 0 : needs_[node].needed;
  choose(children_to_place(input_.nodes[node], needs_), needed, chosen, found);
  return found;
}

void TreeMinima::choose(std::span<const std::size_t> children, std::int64_t needed, Nodes& chosen,
                        Choices& found) const {
  if (std::ssize(children) < needed) return;
  if (found.all.size() == kWholeTreeChoicesMax) {
    found.complete = false;
    return;
  }
  if (needed == 0) return found.all.push_back(chosen);
  const std::size_t before = chosen.size();
  const Choices first = choices(children.front());
  found.complete &= first.complete;
  for (const Nodes& one : first.all) {
    chosen.insert(chosen.end(), one.begin(), one.end());
    choose(children.subspan(1), needed - 1, chosen, found);
    chosen.resize(before);
  }
  choose(children.subspan(1), needed, chosen, found);
}

// The first of its choices.
void TreeMinima::add_oldest(std::size_t node, Nodes& nodes) const {
  nodes.push_back(node);
  if (input_.nodes[node].is_group()) return;
  const Nodes children = children_to_place(input_.nodes[node], needs_);
  for (const std::size_t child : std::span(children).first(static_cast<std::size_t>(needs_[node].needed)))
    add_oldest(child, nodes);
}

void TreeMinima::add_minima(const Nodes& nodes, std::vector<bool>& has, Order& order) const {
  for (const std::size_t node : nodes) {
    has[node] = true;
    if (input_.nodes[node].is_group())
      for (std::int64_t at = 0; at < needs_[node].needed; ++at)
        order.members.push_back({node, static_cast<std::size_t>(at)});
  }
  order.sizes.push_back(order.members.size());
}

TreeMinima::Order TreeMinima::order_of(const Nodes& choice) const {
  Order order;
  std::vector<bool> has;
  for (const TreeNeed& need : needs_) has.push_back(need.has_minimum());
  add_minima(choice, has, order);
  for (std::size_t node = 0; node < needs_.size(); ++node) {
    if (!has[node]) continue;
    for (const std::size_t child : children_to_place(input_.nodes[node], needs_)) {
      if (has[child]) continue;
      Nodes oldest;
      add_oldest(child, oldest);
      add_minima(oldest, has, order);
    }
  }
  for (std::size_t node = 0; node < needs_.size(); ++node) {
    if (!has[node] || !input_.nodes[node].is_group()) continue;
    const std::size_t waiting = input_.nodes[node].group.waiting.size();
    for (auto at = static_cast<std::size_t>(needs_[node].needed); at < waiting; ++at) {
      order.members.push_back({node, at});
      order.sizes.push_back(order.members.size());
    }
  }
  return order;
}

TreeMinima::Orders TreeMinima::orders() const {
  Orders found;
  if (!needs_.front().ready) return found;
  found.complete = needs_.size() <= kWholeTreeNodesMax;
  if (!found.complete) return found;
  const Choices choices = this->choices(0);
  found.complete = choices.complete;
  for (const Nodes& choice : choices.all) found.all.push_back(order_of(choice));
  return found;
}

WholeTree::WholeTree(GroupCycle& groups, DomainIndex& domains, Placements placements,
                     const SchedulingContext& context, const TreeInput& input,
                     model::Ledger::Transaction& transaction)
    : groups_(groups),
      domains_(domains),
      placements_(placements),
      context_(context),
      input_(input),
      transaction_(transaction),
      all_(whole_tree_input(input, group_)) {}

TreeOutcome WholeTree::run() {
  const TreeMinima::Orders orders = TreeMinima(input_).orders();
  for (std::size_t i = 0; i < orders.all.size() && !failed_; ++i) {
    const TreeMinima::Order& order = orders.all[i];
    if (order.members.empty()) continue;
    const auto before = transaction_.savepoint();
    const bool has_more = order.sizes.size() > 1;
    if (i == 0 && has_more)
      if (auto all = place(order.members)) return accept(order.members, *std::move(all));
    auto least = place_least(order);
    if (!least) continue;
    if (!has_more) return accept(order.members, std::move(least->outcome));
    return place_more(order, *std::move(least), before);
  }
  if (!orders.complete) unproved_ = kSearchBudgetEnded;
  return refuse();
}

// The minima. If these cannot be cut into segments, a few more members may.
std::optional<WholeTree::Fit> WholeTree::place_least(const TreeMinima::Order& order) {
  if (order.sizes.front() == 0) return Fit{};
  if (auto minima = place_minima(order)) return Fit{0, *std::move(minima)};
  if (!all_.wish->segments || failed_) return std::nullopt;
  const std::size_t sizes_max = std::min(order.sizes.size(), kWholeTreeSizesMax);
  for (std::size_t at = 1; at < sizes_max; ++at)
    if (auto more = place(std::span(order.members).first(order.sizes[at]))) return Fit{at, *std::move(more)};
  // Other members might.
  if (order.sizes.size() > 1) unproved_ = kSearchBudgetEnded;
  return std::nullopt;
}

std::optional<GroupOutcome> WholeTree::place_minima(const TreeMinima::Order& order) {
  const std::span<const Member> members = std::span(order.members).first(order.sizes.front());
  const GroupInput input = input_of(members);
  const auto before = transaction_.savepoint();
  GroupOutcome outcome = WishSearch({groups_, domains_, placements_, context_, input, transaction_}).run();
  if (outcome.kind == GroupOutcome::Kind::Placed && outcome.placed() == members.size()) return outcome;
  transaction_.roll_back_to(before);
  failed_ = outcome.kind == GroupOutcome::Kind::Error;
  if (outcome.refusal && unproved_.empty()) unproved_ = outcome.refusal->group->unproved;
  if (!refused_ || failed_) refused_ = std::move(outcome);
  return std::nullopt;
}

std::optional<GroupOutcome> WholeTree::place(std::span<const Member> members) {
  const std::optional<WishSegments>& cut = all_.wish->segments;
  if (cut && all_.placed.empty() && !can_be_cut(std::ssize(members), cut->min, cut->max)) return std::nullopt;
  const GroupInput input = input_of(members);
  const auto before = transaction_.savepoint();
  WishSearch search({groups_, domains_, placements_, context_, input, transaction_});
  const auto size = static_cast<std::int64_t>(members.size());
  std::optional<GroupOutcome> outcome = search.place(size, size, GroupEffort::AllChoices);
  if (outcome && outcome->kind == GroupOutcome::Kind::Placed && outcome->placed() == members.size())
    return outcome;
  transaction_.roll_back_to(before);
  return std::nullopt;
}

// At least the least are placed.
TreeOutcome WholeTree::place_more(const TreeMinima::Order& order, Fit fit,
                                  model::Ledger::Transaction::Savepoint before) {
  GroupOutcome best = std::move(fit.outcome);
  model::Plan plan = transaction_.take_since(before);
  std::size_t least = fit.size,
              most = order.sizes.size();  // indices: the first fits, the second is not tried
  while (most - least > 1) {
    const bool each = most - least <= kWholeTreeSizesMax;
    const std::size_t at = each ? most - 1 : least + (most - least) / 2;
    auto found = place(std::span(order.members).first(order.sizes[at]));
    if (!found) {
      most = at;
      continue;
    }
    best = *std::move(found);
    plan = transaction_.take_since(before);
    least = at;
  }
  if (order.sizes[least] == 0) return refuse();
  context_.cluster.redo(plan, transaction_);
  return accept(std::span(order.members).first(order.sizes[least]), std::move(best));
}

GroupInput WholeTree::input_of(std::span<const Member> members) {
  GroupInput some = all_;
  std::vector<Member> sorted(members.begin(), members.end());
  std::ranges::sort(sorted);
  some.waiting.clear();
  for (const Member& one : sorted) some.waiting.push_back(input_.nodes[one.node].group.waiting[one.at]);
  group_.gang_min = static_cast<std::int32_t>(members.size());
  return some;
}

TreeOutcome WholeTree::accept(std::span<const Member> members, GroupOutcome placed) {
  TreeOutcome outcome;
  outcome.kind = GroupOutcome::Kind::Placed;
  outcome.nodes.resize(input_.nodes.size());
  for (std::size_t node = 0; node < input_.nodes.size(); ++node)
    outcome.nodes[node].members.resize(input_.nodes[node].group.waiting.size());
  std::vector<Member> sorted(members.begin(), members.end());
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    outcome.nodes[sorted[i].node].members[sorted[i].at] = std::move(placed.members[i]);
  for (std::size_t node = input_.nodes.size(); node-- > 0;) {
    const TreeNode& one = input_.nodes[node];
    TreeNodeOutcome& own = outcome.nodes[node];
    std::int64_t have = one.group.scheduled;
    have +=
        std::ranges::count_if(own.members, [](const MemberOutcome& member) { return member.node.valid(); });
    for (const std::size_t child : one.children) have += outcome.nodes[child].placed ? 1 : 0;
    own.placed = have >= one.minimum();
    if (own.placed) own.placement = placed.placement;
  }
  refuse_the_rest(outcome);
  return outcome;
}

// Members that found no place know why.
void WholeTree::refuse_the_rest(TreeOutcome& outcome) {
  for (std::size_t node = 0; node < input_.nodes.size(); ++node) {
    TreeNodeOutcome& own = outcome.nodes[node];
    GroupInput rest = input_.nodes[node].group;
    rest.waiting.clear();
    rest.wish = all_.wish;
    rest.needs = 1;
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < own.members.size(); ++i) {
      if (own.members[i].node.valid()) continue;
      members.push_back(i);
      rest.waiting.push_back(input_.nodes[node].group.waiting[i]);
    }
    if (members.empty()) continue;
    GroupOutcome refused = groups_.refuse(context_, rest, transaction_);
    for (std::size_t i = 0; i < members.size(); ++i) own.members[members[i]] = std::move(refused.members[i]);
    own.refusal = std::move(refused.refusal);
  }
}

TreeOutcome WholeTree::refuse() {
  Refusal refusal = refuse_tree(input_, DecisionResult::Unschedulable);
  if (refused_ && refused_->refusal) {
    const Refusal& why = *refused_->refusal;
    refusal.result = why.result;
    refusal.group = why.group;
    refusal.group->first_progress = {};
    refusal.group->first_progress.minimum = input_.nodes.front().minimum();
    if (why.result == DecisionResult::Error) refusal.preemption = Preemption();
  }
  refusal.group->unproved = unproved_;
  if (!unproved_.empty()) refusal.group->proof = std::nullopt;
  return refused_outcome(input_, std::move(refusal));
}

}  // namespace berth::placement
