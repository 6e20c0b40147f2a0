#include <deque>

#include "placement/preemption/victims.h"
#include "planning/remedy_search.h"
#include "planning/remedy_steps.h"

namespace berth::planning {
namespace {

using placement::GroupOutcome;
using placement::RemedyKind;
using placement::TreeInput;
using placement::TreeNode;
using placement::TreeOutcome;

// A tree whose groups and pods may be changed.
class ChangedTree {
 public:
  explicit ChangedTree(const TreeInput& input) : input_(input) {}

  TreeInput& input() { return input_; }
  api::PodGroup& group(std::size_t node) {
    api::PodGroup& copy = groups_.emplace_back(*input_.nodes[node].group.group);
    input_.nodes[node].group.group = &copy;
    return copy;
  }
  api::CompositePodGroup& composite(std::size_t node) {
    api::CompositePodGroup& copy = composites_.emplace_back(*input_.nodes[node].composite);
    input_.nodes[node].composite = &copy;
    return copy;
  }
  void set_minimum(std::size_t node, std::int32_t minimum) {
    if (input_.nodes[node].is_group())
      group(node).gang_min = minimum;
    else
      composite(node).gang_min = minimum;
  }
  void drop_topology(std::size_t node) {
    if (input_.nodes[node].is_group())
      group(node).topology_keys.clear();
    else
      composite(node).topology_keys.clear();
  }
  // Everybody else has a lower priority.
  void be_urgent() {
    for (std::size_t i = 0; i < input_.nodes.size(); ++i) {
      if (!input_.nodes[i].is_group()) {
        api::CompositePodGroup& copy = composite(i);
        copy.priority = INT32_MAX;
        copy.preemption_policy = "PreemptLowerPriority";
        continue;
      }
      group(i).priority = INT32_MAX;
      for (auto* pods : {&input_.nodes[i].group.waiting, &input_.nodes[i].group.placed})
        for (const api::Pod*& pod : *pods) {
          api::Pod& copy = pods_.emplace_back(*pod);
          copy.priority = INT32_MAX;
          pod = &copy;
        }
    }
  }

 private:
  TreeInput input_;
  std::deque<api::PodGroup> groups_;
  std::deque<api::CompositePodGroup> composites_;
  std::deque<api::Pod> pods_;
};

class TreeRemedySearch final : public RemedySearch {
 public:
  TreeRemedySearch(OfflineCluster& offline, const TreeInput& input, const PlanOptions& options,
                   dra::SelectorEvaluator& selectors)
      : RemedySearch(offline, options, selectors), input_(input) {}

  Remedies run() {
    {
      model::Ledger::Transaction transaction(offline.cluster().ledger());
      out.refusal = core.decide_tree(context, input_, transaction).refusal;
    }
    if (!out.refusal || out.refusal->result != placement::DecisionResult::Unschedulable)
      return std::move(out);
    out.needed = out.refusal->group->needed;
    describe_groups();
    describe_domains();
    name_nearest();
    evict();
    if (const api::Pod* member = first_member()) {
      const std::vector<model::NodeId> nodes = core.domains().nodes(offline.cluster());
      open_nodes(*member, nodes);
      add_nodes(*member, nodes);
    }
    for (std::size_t node = 0; node < input_.nodes.size(); ++node) drop_topology(node);
    for (std::size_t node = 0; node < input_.nodes.size(); ++node) ask_for_fewer(node);
    return std::move(out);
  }

 private:
  bool fits_as(const TreeInput& input) {
    ++tries;
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    return core.place_tree(context, input, transaction).kind == GroupOutcome::Kind::Placed;
  }
  bool fits() override { return fits_as(input_); }

  // As many members of each group as fit together, where no group insists on its minimum.
  void describe_groups() {
    ChangedTree any(input_);
    for (std::size_t i = 0; i < input_.nodes.size(); ++i) any.set_minimum(i, 1);
    ++tries;
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    const TreeOutcome most = core.place_tree(context, any.input(), transaction);
    const bool placed = most.kind == GroupOutcome::Kind::Placed;
    out.rooms.resize(input_.nodes.size());
    for (std::size_t i = input_.nodes.size(); i-- > 0;) {
      const TreeNode& node = input_.nodes[i];
      GroupRoom& room = out.rooms[i];
      room.name = node.meta().name;
      room.composite = !node.is_group();
      room.needed = node.minimum();
      if (node.is_group()) room.fit = node.group.scheduled;
      if (placed && node.is_group())
        for (const placement::MemberOutcome& member : most.nodes[i].members) room.fit += member.node.valid();
      for (const std::size_t child : node.children) room.fit += out.rooms[child].has_minimum();
      if (placed && most.nodes[i].placed) room.domain = most.nodes[i].placement;
    }
  }

  // All pods as those of one group where the root must be: what the groups below ask for does not count.
  void describe_domains() {
    const TreeNode& root = input_.nodes.front();
    api::PodGroup all;
    all.meta = root.meta();
    all.priority = root.priority();
    all.topology_keys = root.topology_keys();
    placement::GroupInput input;
    input.group = &all;
    input.wish = root.wish;
    for (const TreeNode& node : input_.nodes) {
      const placement::GroupInput& own = node.group;
      input.waiting.insert(input.waiting.end(), own.waiting.begin(), own.waiting.end());
      input.placed.insert(input.placed.end(), own.placed.begin(), own.placed.end());
      input.occupied.insert(input.occupied.end(), own.occupied.begin(), own.occupied.end());
      input.recorded.insert(input.recorded.end(), own.recorded.begin(), own.recorded.end());
    }
    domains_of(input);
  }

  void name_nearest() {
    const placement::GroupRefusal& group = *out.refusal->group;
    const auto with_room = [](std::int64_t room, std::int64_t needed) {
      return "has room for " + std::to_string(room) + " of the " + std::to_string(needed) +
             (needed == 1 ? " member that is needed" : " members that are needed");
    };
    if (!group.nearest.empty())
      out.nearest = {group.nearest, {"it " + with_room(group.nearest_room, group.needed)}};
    if (!group.stuck || group.stuck->nearest.empty()) return;
    const placement::StuckGroup& stuck = *group.stuck;
    const std::string who = std::string(placement::group_kind(stuck.composite)) + " " + stuck.name;
    out.nearest = {stuck.nearest,
                   {stuck.room ? "for " + who + " it " + with_room(*stuck.room, stuck.needed)
                               : "it does not take " + who + " next to the other groups"}};
  }

  void evict() {
    note(RemedyKind::Evict);
    ChangedTree urgent(input_);
    urgent.be_urgent();
    placement::Preempting preempting;
    preempting.searches = true;
    ++tries;
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    const auto before = transaction.savepoint();
    const auto plan = core.decide_tree(context, urgent.input(), transaction, preempting).preemption;
    transaction.roll_back_to(before);
    if (!plan || plan->victims.empty()) return;
    for (const auto* victims : {&plan->victims, &plan->awaited})
      for (const placement::PreemptionVictim& victim : *victims)
        placement::remove_victim(offline.cluster(), victim.pod, model::GroupClaims::Freed, transaction);
    ++tries;
    if (core.place_tree(context, input_, transaction).kind != GroupOutcome::Kind::Placed) return;
    add(evict_step(plan->victims, plan->placement));
  }

  // Of the group that finds no room, if there is one.
  const api::Pod* first_member() const {
    const api::Pod* first = nullptr;
    const auto& stuck = out.refusal->group->stuck;
    for (const TreeNode& node : input_.nodes) {
      if (node.group.waiting.empty()) continue;
      if (stuck && node.meta().name == stuck->name) return node.group.waiting.front();
      if (!first) first = node.group.waiting.front();
    }
    return first;
  }

  placement::RemedyStep step_of(RemedyKind kind, std::size_t node) const {
    const TreeNode& of = input_.nodes[node];
    placement::RemedyStep step{.kind = kind};
    step.group = of.meta().name;
    step.of_groups = !of.is_group();
    return step;
  }

  void drop_topology(std::size_t node) {
    if (input_.nodes[node].topology_keys().empty() || is_over()) return;
    note(RemedyKind::DropTopology);
    ChangedTree free(input_);
    free.drop_topology(node);
    if (!fits_as(free.input())) return;
    placement::RemedyStep step = step_of(RemedyKind::DropTopology, node);
    step.subjects = input_.nodes[node].topology_keys();
    add(std::move(step));
  }

  // The largest minimum that fits.
  void ask_for_fewer(std::size_t node) {
    if (input_.nodes[node].minimum() < 2 || is_over()) return;
    note(RemedyKind::FewerMembers);
    std::int32_t fitting = 0, refused = input_.nodes[node].minimum();
    while (fitting + 1 < refused && !is_over()) {
      const std::int32_t middle = fitting + (refused - fitting) / 2;
      ChangedTree smaller(input_);
      smaller.set_minimum(node, middle);
      (fits_as(smaller.input()) ? fitting : refused) = middle;
    }
    if (fitting == 0) return;
    placement::RemedyStep step = step_of(RemedyKind::FewerMembers, node);
    step.count = fitting;
    add(std::move(step));
  }

  const TreeInput& input_;
};

}  // namespace

Remedies tree_remedies(OfflineCluster& offline, const TreeInput& input, const PlanOptions& options,
                       dra::SelectorEvaluator& selectors) {
  return TreeRemedySearch(offline, input, options, selectors).run();
}

}  // namespace berth::planning
