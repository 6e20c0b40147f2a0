// How many members of a group a node takes at most by its free devices.
//
// Devices count by their driver where the classes and selectors of the requests name it, and all together.
// Owner: one decision. Cost: O(devices of the node), once a node.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/pod_query.h"

namespace berth::placement {

class GroupDevices {
 public:
  // Both outlive it.
  GroupDevices(const SchedulingContext& context, std::span<const api::Pod* const> members);

  // Whether each member takes some devices that no other member shares.
  bool limits() const { return !asks_.empty(); }
  // Members; `most` where devices limit nothing.
  std::int64_t room(model::NodeId node, std::int64_t most);
  // Devices that the nodes lack for so many members, at least; 0: unknown, or none.
  std::int64_t lacking(std::span<const model::NodeId> nodes, std::int64_t members);
  // Devices are free again, or hidden.
  void forget() { known_.clear(); }

 private:
  using ByDriver = std::map<std::string, std::int64_t, std::less<>>;  // empty: of any driver
  // Free devices, as asks_; none: several claims may share one of them.
  using Free = std::optional<std::vector<std::int64_t>>;
  struct Ask {
    std::string driver;      // empty: any
    std::int64_t count = 0;  // that each member takes at least
  };
  ByDriver asks_of(const std::vector<model::ClaimId>& claims) const;
  std::string driver_of(const api::DeviceRequest& request) const;
  const Free& free_on(model::NodeId node);
  Free count(model::NodeId node) const;
  bool add_free(model::PoolId pool, std::string_view node, std::vector<std::int64_t>& free) const;

  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  std::vector<Ask> asks_;
  std::vector<std::optional<Free>> known_;  // by node
};

}  // namespace berth::placement
