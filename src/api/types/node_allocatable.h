// The node resources (cpu, memory and so on) that devices consume: as published in a slice, and as recorded
// in a pod's status. Source: KEP-5517, resource.k8s.io/v1 Device.nodeAllocatableResources, core/v1
// PodStatus.nodeAllocatableResourceClaimStatuses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/types/meta.h"
#include "base/quantity.h"

namespace berth::api {

// The device is itself an amount of the resource: counted once per claim, which no second pod may use. By
// capacity: the claim's consumption of `capacity_key`, times `multiplier`; else `multiplier` per device.
struct NodeAllocatableMapping {
  std::string capacity_key;
  Quantity multiplier;
};

// Additional amounts: once per pod that uses the claim, and per container of it that names the claim.
struct NodeAllocatableOverhead {
  std::optional<Quantity> per_pod, per_container;
  friend bool operator==(const NodeAllocatableOverhead&, const NodeAllocatableOverhead&) = default;
};

struct NodeAllocatableResource {
  std::optional<NodeAllocatableMapping> mapping;
  std::optional<NodeAllocatableOverhead> overhead;
};
using NodeAllocatableResources = std::map<std::string, NodeAllocatableResource>;  // by resource

// One entry of the pod's status: what the devices of one claim consume for this pod.
struct NodeAllocatableClaim {
  std::string claim_name;
  std::vector<std::string> containers;  // that name the claim, init containers first
  std::map<std::string, Quantity> mapping;
  std::map<std::string, NodeAllocatableOverhead> overhead;
  friend bool operator==(const NodeAllocatableClaim&, const NodeAllocatableClaim&) = default;
};
using NodeAllocatableClaims = std::vector<NodeAllocatableClaim>;  // by claim_name

// Exact to nano units, rounded away from zero, saturating like a sum of quantities. Keeps the format of `a`.
Quantity product(Quantity a, Quantity b);
// The sum of all entries; a negative amount counts as zero.
ResourceMap amounts_of(const NodeAllocatableClaims& claims);
// The part that one container may use: every mapping, and overhead once per pod and once for itself.
ResourceMap amounts_of(const NodeAllocatableClaims& claims, std::string_view container);

NodeAllocatableResources decode_node_allocatable_resources(const Json& map);
NodeAllocatableClaims decode_node_allocatable_claims(const JsonArray& items);
Json to_json(const NodeAllocatableClaims& claims);

}  // namespace berth::api
