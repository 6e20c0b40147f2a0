#include "planning/waiting_input.h"

#include <algorithm>

#include "placement/wishes/policy_wishes.h"
#include "planning/planner.h"

namespace berth::planning {
namespace {

placement::AvoidSet nothing_avoided(const api::Pod&) {
  return {};
}

}  // namespace

WaitingGroup waiting_group(OfflineCluster& offline, const client::NamedKey& key) {
  WaitingGroup waiting{offline.view().pod_groups.find_shared(key.ns, key.name), {}, {}};
  if (!waiting.group) waiting.gate = placement::GroupGate{placement::GroupGate::Kind::NoGroup, key.name};
  if (!waiting.group) return waiting;
  const placement::EntityKey entity{key.ns, key.name, placement::EntityKind::Group};
  placement::GroupMembers members = members_of(offline.view(), offline.cluster(), entity);
  if (auto gate = placement::group_gate(entity, waiting.group.get(), members))
    waiting.gate = *std::move(gate);
  if (members.unsettled) waiting.gate = *members.unsettled;
  if (members.waiting.empty() || waiting.gate) return waiting;
  placement::WishAnswer wish = placement::wish_of(offline.view(), offline.owners(), *waiting.group);
  if (wish.fault) waiting.gate = placement::gate_of(*wish.fault);
  if (waiting.gate) return waiting;
  std::ranges::sort(members.waiting, placement::before_in_queue);
  waiting.input = placement::group_input(*waiting.group, std::move(members), nothing_avoided);
  placement::set_wish(*waiting.input, std::move(wish.wish));
  return waiting;
}

WaitingTree waiting_tree(OfflineCluster& offline, const placement::EntityKey& root) {
  placement::TreeMembers tree = tree_of(offline.view(), offline.cluster(), root);
  WaitingTree waiting;
  if (auto gate = placement::tree_gate(tree)) waiting.gate = *std::move(gate);
  for (placement::TreeMember& node : tree.nodes) {
    if (node.members.unsettled) waiting.gate = *node.members.unsettled;
    std::ranges::sort(node.members.waiting, placement::before_in_queue);
  }
  if (!tree.any_waiting() || waiting.gate) return waiting;
  if (const auto fault = placement::fault_of(offline.view(), offline.owners(), tree))
    waiting.gate = placement::gate_of(*fault);
  if (waiting.gate) return waiting;
  waiting.input = placement::tree_input(std::move(tree), nothing_avoided);
  placement::add_wishes(offline.view(), offline.owners(), *waiting.input);
  return waiting;
}

}  // namespace berth::planning
