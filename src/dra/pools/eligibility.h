// Why one device alone does not do for one request, as things stand: the first rule that refuses it.
//
// Looks at the node and the ledger only, never at what a search has chosen: what is refused here is refused
// in every search, unless a device draws a negative amount from a counter (such pools pass here).
#pragma once

#include "dra/compiled_request.h"
#include "dra/pools/inventory.h"

namespace berth::dra {

// In the order of the rules.
enum class Eligibility : std::uint8_t {
  Selector,  // the class's or the request's selectors say no
  Feature,   // needs a feature that the node or the scheduler lacks
  InUse,
  Taint,
  Capacity,
  Counter,
  Group,
  Fits,
  Error,  // Kubernetes ends the attempt when it looks at this device
};

struct EligibilityCheck {
  const model::Cluster& cluster;
  Inventory& inventory;
  const DeviceGates& gates;
  const NodeDevices& devices;
  model::NodeId node;

  Eligibility of(const CompiledSubRequest& sub, DeviceRef place) const;

 private:
  Eligibility of_capacity(const CompiledSubRequest& sub, DeviceRef place) const;
};

// The first taint that keeps the device away; null when there is none.
const api::Taint* untolerated(const api::Device& device, const std::vector<api::Toleration>& tolerations);
// What all shares of the device together consume of a capacity.
Quantity consumed_of(const model::DeviceUse& use, model::CapacityId capacity);
// Why nobody can have the device on this node, whatever is free: a gate that is off, a feature that the node
// lacks, or a node selector that no claim's allocation could take over. Empty when somebody can.
std::string_view refusal_of(const Slice& slice, const api::Device& device, const DeviceGates& gates,
                            const model::NodeRow& node);
// Which nodes can use the device once it is allocated.
struct NodeScope {
  bool one_node = false;                        // only the node that it was chosen for
  const api::NodeSelector* selector = nullptr;  // null: no such limit
};
NodeScope node_scope_of(const Slice& slice, const api::Device& device, const DeviceGates& gates);

}  // namespace berth::dra
