// How many members of a group a node takes at most by its free devices.
//
// Devices are counted together, and by driver where classes and selectors of the requests name it. Where
// these name more than a driver, devices are also counted by whether they pass them. Owner: one decision.
// Cost: O(devices of the node), once a node; by selectors on kNodesBySelectorsMax nodes at most.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dra/allocator.h"
#include "placement/pod_query.h"

namespace berth::placement {

inline constexpr std::size_t kNodesBySelectorsMax = 16'384;

class GroupDevices {
 public:
  // Both outlive it. `shared`: claims whose devices are not counted.
  GroupDevices(const SchedulingContext& context, std::span<const api::Pod* const> members,
               const std::set<model::ClaimId>& shared);
  GroupDevices(const SchedulingContext& context, std::span<const api::Pod* const> members)
      : GroupDevices(context, members, claims_of_several(context.cluster, members)) {}

  // Claims without devices that more than one of the pods uses.
  static std::set<model::ClaimId> claims_of_several(const model::Cluster& cluster,
                                                    std::span<const api::Pod* const> pods);

  // Whether each member takes some devices that no other member shares.
  bool limits() const { return !asks_.empty(); }
  // Equal for groups whose members take equally many devices of every node.
  const std::string& demand() const { return demand_; }
  // Members; `most` where devices limit nothing.
  std::int64_t room(model::NodeId node, std::int64_t most);
  // The same of a node whose devices may have changed.
  std::int64_t recount(model::NodeId node, std::int64_t most);
  // Devices that the nodes lack for so many members, at least; 0: unknown, or none.
  std::int64_t lacking(std::span<const model::NodeId> nodes, std::int64_t members);
  // Devices are free again, or hidden.
  void forget() { known_.clear(); }

 private:
  // A driver, or none: any. A number of selectors (Allocator::selectors_of), or 0: whatever they say.
  using Kind = std::pair<std::string, std::uint64_t>;
  using ByKind = std::map<Kind, std::int64_t>;
  // Free devices, as asks_; none: several claims may share one of them.
  using Free = std::optional<std::vector<std::int64_t>>;
  struct Ask {
    Kind kind;
    std::int64_t count = 0;  // that each member takes at least
  };
  // A request with such selectors.
  struct Selecting {
    std::shared_ptr<const dra::AllocationRequest> claim;
    std::size_t request = 0;
  };
  ByKind asks_of(const std::vector<model::ClaimId>& claims);
  // Of every device that may serve the request; empty: it may be any.
  std::string driver_of(const api::DeviceRequest& request) const;
  // The class and the request ask for more than a driver.
  bool asks_for_more(const api::DeviceRequest& request) const;
  void add_by_selectors(const dra::ClaimPtr& claim, ByKind& asks);
  void limit_by_selectors(model::NodeId node, std::vector<std::int64_t>& free);
  const Free& free_on(model::NodeId node);
  Free count(model::NodeId node);
  bool add_free(model::PoolId pool, std::string_view node, std::vector<std::int64_t>& free) const;

  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  std::vector<Ask> asks_;
  std::string demand_;
  std::map<std::uint64_t, Selecting> selecting_;  // by number of selectors
  std::size_t nodes_left_ = kNodesBySelectorsMax;
  std::vector<std::optional<Free>> known_;  // by node
};

}  // namespace berth::placement
