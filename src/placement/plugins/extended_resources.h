// Extended resources that devices serve (KEP-5004): a device plugin serves the resource on nodes whose
// allocatable names it, devices of its class serve it on all other nodes.
//
// Their claim depends on the resources that devices serve on the node; each variant is compiled once an
// attempt. The class of a resource is the newest that names it as extendedResourceName, then the first by
// name; deviceclass.resource.kubernetes.io/<class> always means that class.
#pragma once

#include <map>

#include "placement/framework.h"
#include "placement/plugins/dynamic_resources.h"
#include "placement/signature.h"

namespace berth::placement::plugins {

// The claim for one set of delegated resources, and the allocation request with it.
struct ExtendedVariant {
  std::shared_ptr<const dra::AllocationRequest> allocation_request;
  std::shared_ptr<const api::ExtendedClaim> claim;
};

// The pod's resources that devices may serve, and the variants on the nodes judged so far.
struct ExtendedResources {
  std::vector<model::ResourceId> resources;
  std::string claim_name;
  std::map<std::uint64_t, ExtendedVariant> variants;  // by the bit set of delegated resources; a memo
};

// Resources of one pod that devices may serve; one bit each.
inline constexpr std::size_t kDelegableMax = 64;

// Null if the resource has no class.
std::shared_ptr<const api::DeviceClass> class_of(const model::Cluster& cluster, const std::string& resource);
std::shared_ptr<const api::DeviceClass> class_of(const model::Cluster& cluster, model::ResourceId resource);
// The resource that always means this class.
std::string implicit_resource(std::string_view device_class);

// Whether devices serve this resource of the pod on the node.
bool delegated(const PodQuery& query, model::ResourceId resource, const model::NodeRow& node);

// What the pod allocates on one node.
struct NodeRequest {
  const dra::AllocationRequest* devices = nullptr;     // null: device plugins serve everything, or all claims
                                                       // are allocated
  std::shared_ptr<const api::ExtendedClaim> extended;  // for what devices serve there; null: nothing
};
// An error refuses the node only.
Result<NodeRequest> allocation_request_for(const PodQuery& query, NodeId node);

// Write what the verdict on a node follows from: which resources devices may serve, by which classes; and
// their claim, with every set of them delegated. Unsigned: a class cannot be compiled.
void sign_extended_resources(const PodQuery& query, PodSignature& signature);
Signing sign_extended_claim(const PodQuery& query, PodSignature& signature);

// The claim's requests and the pod's mappings for the resources in `class_by_name`, by Kubernetes' rules.
// Ordinary init containers reuse devices of later containers and of sidecars; sidecars add to the sum.
api::ExtendedClaim extended_claim(const api::Pod& pod,
                                  const std::map<std::string, std::string>& class_by_name);

}  // namespace berth::placement::plugins
