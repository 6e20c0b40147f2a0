// Extended resources that devices serve (KEP-5004): on a node whose allocatable names the resource a device
// plugin serves it, on every other node devices of the class that stands for it.
//
// The claim for them differs from node to node by what is delegated there; each variant is compiled once an
// attempt. The class of a resource: the newest one that names it as extendedResourceName, of equally old ones
// the first by name; deviceclass.resource.kubernetes.io/<class> always means that class.
#pragma once

#include <map>

#include "scheduling/plugins/dynamic_resources.h"

namespace berth::scheduling::plugins {

// The claim for what one set of delegated resources asks, and the ask with it.
struct ExtendedVariant {
  std::shared_ptr<const dra::AllocationRequest> allocation_request;
  std::shared_ptr<const api::ExtendedClaim> claim;
};

// The pod's resources that devices may serve, and what that means on the nodes that were asked.
struct ExtendedResources {
  std::vector<model::ResourceId> resources;
  std::string claim_name;
  std::map<std::uint64_t, ExtendedVariant> variants;  // by a bit for each delegated resource
  std::shared_ptr<const api::ExtendedClaim> chosen;   // of the node asked last; null: nothing is delegated
};

// Resources of one pod that devices may serve; one bit each.
inline constexpr std::size_t kDelegableMax = 64;

// Null when no class stands for the resource.
std::shared_ptr<const api::DeviceClass> class_of(const model::Cluster& cluster, model::ResourceId resource);

// Whether devices serve this resource of the pod on the node.
bool delegated(const CycleState& state, model::ResourceId resource, const model::NodeRow& node);

// What the node must allocate for the pod: its ask, with the claim for what is delegated there. Null:
// nothing. Notes the variant in ExtendedResources::chosen. The error is the node's.
Result<const dra::AllocationRequest*> allocation_request_for(const CycleState& state, NodeId node);

// The claim's requests and the pod's mappings for the resources of `names`, by Kubernetes' rules: ordinary
// init containers use devices of containers after them and of sidecars, sidecars add.
api::ExtendedClaim extended_claim(const api::Pod& pod,
                                  const std::map<std::string, std::string>& class_by_name);

}  // namespace berth::scheduling::plugins
