// How many members of a group a node takes at most by its free devices: all of them count, whatever their
// class.
//
// Owner: one decision. Cost: O(devices of the node), once a node.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "api/types/pod.h"
#include "model/cluster.h"

namespace berth::placement {

class GroupDevices {
 public:
  // Both outlive it.
  GroupDevices(const model::Cluster& cluster, std::span<const api::Pod* const> members);

  // That each member takes at least, of those that no other member shares; 0: devices limit nothing.
  std::int64_t per_member() const { return per_member_; }
  // None: several claims may share one of them.
  std::optional<std::int64_t> free_on(model::NodeId node);
  // Members; `most` where devices limit nothing.
  std::int64_t room(model::NodeId node, std::int64_t most);
  // Devices are free again, or hidden.
  void forget() { known_.clear(); }

 private:
  std::optional<std::int64_t> count(model::NodeId node) const;

  const model::Cluster& cluster_;
  std::int64_t per_member_ = 0;
  std::vector<std::optional<std::optional<std::int64_t>>> known_;  // by node
};

}  // namespace berth::placement
