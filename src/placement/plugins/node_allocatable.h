// What the devices of a pod's claims take of the node itself (KEP-5517), as a part of the DynamicResources
// filter. Devices are chosen first; then the pod and their consumption must fit, as in kube-scheduler 1.37.
#pragma once

#include "placement/plugins/dynamic_resources.h"
#include "placement/plugins/node_resources.h"

namespace berth::placement::plugins {

// Whether any claim of the pod might take resources of its node. Cost: a few comparisons.
inline bool may_take_of_node(const PodQuery& query) {
  if (!query.context->cluster.devices_take_of_nodes()) return false;
  const PodClaims& pod = claims_of(query);
  return pod.allocation_request || pod.extended || !pod.claims.empty();
}

// After the choice of devices: records in NodeDevices::node_allocatable what they take. False if the node
// lacks room for it or a rule is broken; the node is then refused or the attempt failed.
bool has_room_for_devices(const NodeTrial& trial, Tried tried);

// The first resource of which the chosen devices take more than the node has. None: there is room, or
// something else is wrong.
std::optional<model::ResourceId> shortage_by_devices(const NodeTrial& trial);

// Devices excluded on one node, one after the other, in search of a choice that fits.
inline constexpr int kDevicesLeftOutMax = 8;

// Excludes devices from choices on the node under trial during its lifetime. The destructor restores all of
// them.
class DeviceExclusion {
 public:
  explicit DeviceExclusion(const NodeTrial& trial);
  ~DeviceExclusion();
  DeviceExclusion(const DeviceExclusion&) = delete;
  DeviceExclusion& operator=(const DeviceExclusion&) = delete;
  // Excludes the chosen device that takes most of the resource, if the node's pools have a free one that
  // takes less. False: another choice cannot help.
  bool exclude_largest_consumer(model::ResourceId lacking);
  // Excludes every free device that takes more of the resource than the node has left for the pod, so that no
  // choice with it fits. False: there is none.
  bool exclude_too_large(model::ResourceId lacking);

 private:
  const NodeTrial& trial_;
  const model::Cluster& cluster_;
  model::Ledger::Transaction& what_if_;
  model::Ledger::Transaction::Savepoint before_;
};

// Whether no choice of devices takes less of the resource than the one made: a fixed number of devices, and
// none that is free takes less than any of them.
bool takes_least(const NodeTrial& trial, model::ResourceId lacking);

// "its devices take 4 cpu and 2Gi memory of the node"; empty when they take nothing.
std::string takes_text(const PodQuery& query,
                       const std::vector<std::shared_ptr<const api::Allocation>>& allocations);

// Signs how many containers name each claim; with the pod's requests and claims this decides what is taken.
// Unsigned if more fields of the pod count.
Signing sign_container_counts(const PodQuery& query, PodSignature& signature);

// The claim has devices that map to node resources, and another pod uses it.
bool is_mapped_elsewhere(const PodQuery& query, const ClaimChoice& choice);

}  // namespace berth::placement::plugins
