#include <algorithm>
#include <iterator>
#include <utility>

#include "api/types/group_domain.h"
#include "placement/refusal/berth_words.h"
#include "planning/planner.h"

namespace berth::planning {
namespace {

using placement::GroupMembers;
using placement::GroupOutcome;
using placement::TreeInput;
using placement::TreeMembers;
using placement::TreeOutcome;

// Members of any scheduler: a plan is about the cluster, and writes nothing.
placement::GroupQuestions questions() {
  return {[](const api::Pod&) { return true; }, [](const std::string&) { return false; },
          [](const std::string&) { return false; }};
}

std::int32_t placed_in(const std::vector<placement::MemberOutcome>& members) {
  return static_cast<std::int32_t>(
      std::ranges::count_if(members, [](const auto& member) { return member.node.valid(); }));
}

Decision decision_of(const placement::EntityKey& key) {
  Decision decision;
  decision.group = true;
  decision.composite = key.kind == placement::EntityKind::CompositeGroup;
  decision.reason = "Unschedulable";
  decision.ns = key.ns;
  decision.name = key.name;
  return decision;
}

}  // namespace

GroupMembers members_of(const client::View& view, const model::Cluster& cluster,
                        const placement::EntityKey& group) {
  return group_members(view, cluster, questions(), group.ns, group.name);
}

TreeMembers tree_of(const client::View& view, const model::Cluster& cluster,
                    const placement::EntityKey& root) {
  return tree_members(view, cluster, questions(), root);
}

void Planner::decide_tree(const Turn& turn) {
  const placement::EntityKey& key = turn.entry.key;
  TreeMembers tree = tree_of(offline_.view(), offline_.cluster(), key);
  Decision root = decision_of(key);
  std::vector<Decision> groups;
  const auto finish = [&] {
    plan_.decisions.push_back(std::move(root));
    std::ranges::move(groups, std::back_inserter(plan_.decisions));
  };
  // Every group waits for the reason of the tree, unless it has one of its own.
  const auto held = [&] {
    for (Decision& group : groups) {
      group.result = root.result;
      group.reason = root.reason;
      group.told = root.told;
      group.refusal = root.refusal;
    }
    finish();
  };
  bool unsettled = false, may_be_tried = true;
  for (placement::TreeMember& node : tree.nodes) {
    std::sort(node.members.waiting.begin(), node.members.waiting.end(), placement::before_in_queue);
    if (node.members.unsettled && !std::exchange(unsettled, true))
      root.told = placement::gate_words(*node.members.unsettled);
    if (node.members.waiting.empty()) continue;
    Decision& group =
        groups.emplace_back(decision_of({key.ns, node.group->meta.name, placement::EntityKind::Group}));
    group.parent = node.group->parent;
    for (const api::Pod* pod : node.members.waiting) {
      group.pods.push_back({pod->meta.ns, pod->meta.name, "", {}});
      if (node.tried && may_be_tried) may_be_tried = this->may_be_tried(*pod, root);
    }
  }
  if (!may_be_tried || unsettled) return held();
  auto gate = placement::tree_gate(tree);
  if (const auto fault = placement::fault_of(offline_.view(), offline_.owners(), tree); fault && !gate)
    gate = placement::gate_of(*fault);
  if (gate && gate->kind == placement::GroupGate::Kind::NoParent)
    gate->why = hint_about(api::Kind::CompositePodGroup, key.ns, gate->name);
  if (gate) {
    refuse(std::make_shared<placement::Refusal>(placement::gate_group(key, *std::move(gate))), root);
    return held();
  }
  TreeInput input =
      placement::tree_input(std::move(tree), [](const api::Pod&) { return placement::AvoidSet{}; });
  placement::add_wishes(offline_.view(), offline_.owners(), input);
  const TreeOutcome outcome = [&] {
    model::Ledger::Transaction transaction(offline_.cluster().ledger());
    return core_.decide_tree(context_, input, transaction, preempting(input.nodes.front().meta()));
  }();
  if (outcome.preemption)
    preempt_for_tree(input, outcome, root, groups);
  else
    place_tree(input, outcome, root, groups);
  finish();
}

// Its members get their nodes when the victims have ended; the other pods wait.
void Planner::preempt_for_tree(const TreeInput& input, const TreeOutcome& outcome, Decision& root,
                               std::vector<Decision>& groups) {
  place_tree(input, outcome, root, groups);
  std::vector<PlannedPod*> pods;
  for (Decision& group : groups)
    for (PlannedPod& pod : group.pods) pods.push_back(&pod);
  root.refusal = outcome.refusal;
  preempt(*outcome.preemption, pods, root);
  for (Decision& group : groups) {
    if (std::ranges::all_of(group.pods, [](const PlannedPod& pod) { return pod.node.empty(); })) continue;
    group.result = root.result;
    group.reason = root.reason;
  }
}

// A group that is not tried has no pods in the input: too few of them exist.
void Planner::place_tree(const TreeInput& input, const TreeOutcome& outcome, Decision& root,
                         std::vector<Decision>& groups) {
  const bool placed = outcome.kind == GroupOutcome::Kind::Placed;
  const placement::TreeNode& first = input.nodes.front();
  std::int32_t count = 0;
  for (const placement::TreeNodeOutcome& node : outcome.nodes)
    count += node.placed ? placed_in(node.members) : 0;
  for (Decision& decision : groups) {
    const auto node = std::ranges::find_if(input.nodes, [&](const placement::TreeNode& one) {
      return one.is_group() && one.group.group->meta.name == decision.name;
    });
    const auto at = static_cast<std::size_t>(node - input.nodes.begin());
    const placement::TreeNodeOutcome& own = outcome.nodes[at];
    if (node->group.waiting.empty()) {
      const auto alive = static_cast<std::int32_t>(decision.pods.size() + node->group.placed.size());
      refuse(std::make_shared<placement::Refusal>(placement::gate_group(
                 {decision.ns, decision.name, placement::EntityKind::Group},
                 {placement::GroupGate::Kind::TooFewMembers, decision.name, node->minimum(), alive})),
             decision);
      continue;
    }
    if (placed && own.placed) {
      place_group(node->group,
                  {GroupOutcome::Kind::Placed, own.placement, own.members, own.refusal, nullptr, own.wish},
                  count, {first.meta().name, first.meta().uid}, decision);
      continue;
    }
    for (std::size_t i = 0; i < own.members.size(); ++i) decision.pods[i].refusal = own.members[i].closest;
    refuse(own.refusal ? own.refusal : outcome.refusal, decision);
  }
  if (!placed) return refuse(outcome.refusal, root);
  root.result = ResultKind::Placed;
  root.reason = "Scheduled";
  const std::string& where = outcome.nodes.front().placement;
  root.told = std::to_string(count) + " pods of " + root.ns + "/" + root.name + " go to " +
              (where.empty() ? "the cluster" : where);
  const std::vector<std::string>& keys = first.topology_keys();
  if (!keys.empty() && !where.empty()) root.topology.emplace_back(keys.front(), where);
  root.wish = outcome.nodes.front().wish;
}

std::string Planner::likeness_of(const placement::GroupInput& input) {
  return alike_ == Alike::DecideFirst ? core_.likeness_of(context_, input) : std::string();
}

bool Planner::decide_group(const Turn& turn, Decision& decision) {
  decision.reason = "Unschedulable";
  const placement::EntityKey& key = turn.entry.key;
  GroupMembers members = members_of(offline_.view(), offline_.cluster(), key);
  std::sort(members.waiting.begin(), members.waiting.end(), placement::before_in_queue);
  for (const api::Pod* pod : members.waiting) decision.pods.push_back({pod->meta.ns, pod->meta.name, "", {}});
  for (const api::Pod* pod : members.waiting)
    if (!may_be_tried(*pod, decision)) return true;
  auto gate = placement::group_gate(key, turn.group, members);
  placement::WishAnswer wish;
  if (!gate) wish = placement::wish_of(offline_.view(), offline_.owners(), *turn.group);
  if (wish.fault) gate = placement::gate_of(*wish.fault);
  if (gate && gate->kind == placement::GroupGate::Kind::NoGroup)
    gate->why = hint_about(api::Kind::PodGroup, key.ns, key.name);
  if (gate) {
    refuse(std::make_shared<placement::Refusal>(placement::gate_group(key, *std::move(gate))), decision);
    return true;
  }
  if (members.unsettled) {
    decision.told = placement::gate_words(*members.unsettled);
    return true;
  }
  placement::GroupInput input = placement::group_input(*turn.group, std::move(members),
                                                       [](const api::Pod&) { return placement::AvoidSet{}; });
  placement::set_wish(input, std::move(wish.wish));
  std::string likeness = likeness_of(input);
  if (refused_.contains(likeness)) return false;
  const GroupOutcome outcome = [&] {
    model::Ledger::Transaction transaction(offline_.cluster().ledger());
    return core_.decide_group(context_, input, transaction, preempting(input.group->meta));
  }();
  apply(input, outcome, decision);
  if (decision.result == ResultKind::Unschedulable && !likeness.empty()) refused_.insert(std::move(likeness));
  return true;
}

void Planner::apply(const placement::GroupInput& input, const GroupOutcome& outcome, Decision& decision) {
  if (outcome.kind == GroupOutcome::Kind::Placed)
    return place_group(input, outcome, placed_in(outcome.members), {}, decision);
  for (std::size_t i = 0; i < outcome.members.size(); ++i)
    decision.pods[i].refusal = outcome.members[i].closest;
  if (outcome.preemption) {
    decision.refusal = outcome.refusal;
    return preempt(*outcome.preemption, pods_of(decision), decision);
  }
  refuse(outcome.refusal, decision);
}

void Planner::place_group(const placement::GroupInput& input, const GroupOutcome& outcome,
                          std::int32_t decided, const api::GroupRoot& root, Decision& decision) {
  const api::PodGroup& group = *input.group;
  api::BindGroup bind_group{group.meta.name, group.meta.uid, decided, root};
  const std::int32_t size = placed_in(outcome.members);
  decision.pods.clear();
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    const placement::MemberOutcome& member = outcome.members[i];
    const api::Pod& pod = *input.waiting[i];
    PlannedPod& planned = decision.pods.emplace_back(PlannedPod{pod.meta.ns, pod.meta.name, "", {}});
    planned.refusal = member.closest;
    if (!member.node.valid()) continue;
    bind_group.domain =
        api::record_domain(input.levels, offline_.cluster().node(member.node).live->meta.labels);
    place({pod, member.node, member.reservation}, bind_group, "group/" + decision.ns + "/" + decision.name,
          planned);
  }
  const bool constrained = !group.topology_keys.empty() && !outcome.placement.empty();
  decision.result = ResultKind::Placed;
  decision.reason = "Scheduled";
  decision.told = std::to_string(size) + " pods of " + group.meta.ns + "/" + group.meta.name + " go to " +
                  (constrained ? outcome.placement : "the cluster");
  if (constrained) decision.topology.emplace_back(group.topology_keys.front(), outcome.placement);
  decision.wish = outcome.wish;
}

}  // namespace berth::planning
