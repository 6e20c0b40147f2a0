// What the devices of a pod's claims take of the node itself (KEP-5517), as a part of the DynamicResources
// filter: first devices are chosen, then the pod with all that they take must fit, as in kube-scheduler 1.37.
#pragma once

#include "scheduling/plugins/dynamic_resources.h"

namespace berth::scheduling::plugins {

// Whether any claim of the pod might take of its node. Cost: two comparisons.
inline bool may_take_of_node(const CycleState& state) {
  if (!state.context->cluster.devices_take_of_nodes()) return false;
  const PodClaims& pod = claims_of(state);
  return pod.allocation_request || pod.extended || !pod.claims.empty();
}

// After devices were found: notes in NodeDevices::node_allocatable what they take and says whether the node
// has room for it; refuses the node, or fails the attempt, where not.
bool has_room_for_devices(CycleState& state, NodeId node);

// The first resource of which the devices found take more than the node has. None: there is room, or
// something else is wrong.
std::optional<model::ResourceId> shortage_by_devices(CycleState& state, NodeId node);

// Devices that choices are tried without on one node, one after the other.
inline constexpr int kDevicesLeftOutMax = 8;

// While it lives devices can be left out of choices: in the open transaction, or one of its own. Its end
// brings all of them back.
class DeviceExclusion {
 public:
  explicit DeviceExclusion(model::Cluster& cluster);
  ~DeviceExclusion();
  DeviceExclusion(const DeviceExclusion&) = delete;
  DeviceExclusion& operator=(const DeviceExclusion&) = delete;
  // Of the devices just chosen the one that takes most of the resource, if the node's pools have a free one
  // that takes less. False: another choice cannot help.
  bool exclude_largest_consumer(const CycleState& state, NodeId node, model::ResourceId lacking);

 private:
  model::Cluster& cluster_;
  std::optional<model::Ledger::Transaction> own_;
  model::Ledger::Transaction& transaction_;
  model::Ledger::Transaction::Savepoint before_;
};

// "its devices take 4 cpu and 2Gi memory of the node"; empty when they take nothing.
std::string takes_text(const CycleState& state,
                       const std::vector<std::shared_ptr<const api::Allocation>>& allocations);

// How many containers name each claim of the pod: with its requests and its claims all that decides what is
// taken. Unsigned for a pod of which more counts.
Signing sign_container_counts(const CycleState& state, PodSignature& signature);

// The claim models cpu, memory and so on, and somebody else has it.
bool is_mapped_elsewhere(const CycleState& state, const ClaimChoice& choice);

}  // namespace berth::scheduling::plugins
