// A group or a tree of groups that waits, as a decision takes it; or why it is not tried.
//
// Values with pointers into the view. Cost: O(members).
#pragma once

#include <memory>
#include <optional>

#include "placement/refusal/gate.h"
#include "placement/trees/tree_input.h"
#include "planning/offline_cluster.h"

namespace berth::planning {

struct WaitingGroup {
  std::shared_ptr<const api::PodGroup> group;  // that `input` names
  std::optional<placement::GroupInput> input;  // none: no member waits, or it may not be tried
  std::optional<placement::GateReason> gate;   // why it may not
};
WaitingGroup waiting_group(OfflineCluster& offline, const client::NamedKey& key);

struct WaitingTree {
  std::optional<placement::TreeInput> input;
  std::optional<placement::GateReason> gate;
};
WaitingTree waiting_tree(OfflineCluster& offline, const placement::EntityKey& root);

}  // namespace berth::planning
