// The first rule that makes one device unusable for one request, by itself.
//
// Reads the node and the ledger only, never the choices of a search. So a device that is refused here is
// refused in every search. Pools in which a device draws a negative amount from a counter pass here.
#pragma once

#include "dra/compiled_request.h"
#include "dra/pools/inventory.h"

namespace berth::dra {

// In the order of the rules.
enum class Eligibility : std::uint8_t {
  Selector,  // the selectors of the class or the request are false
  Feature,   // needs a feature that the node or the scheduler lacks
  InUse,
  Taint,
  Capacity,
  Counter,
  Group,
  Fits,
  Error,  // Kubernetes ends the attempt when it evaluates this device
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

// The first untolerated taint that blocks the device; null without one.
const api::Taint* untolerated(const api::Device& device, const std::vector<api::Toleration>& tolerations);
// What all shares of the device together consume of a capacity.
Quantity consumed_of(const model::DeviceUse& use, model::CapacityId capacity);
// Why no request can use the device on this node, whatever is free. Reasons: a gate that is off, a feature
// that the node lacks, a node selector that an allocation cannot represent. Empty for a usable device.
std::string_view refusal_of(const Slice& slice, const api::Device& device, const DeviceGates& gates,
                            const model::NodeRow& node);
// The nodes that can use the device once it is allocated.
struct NodeScope {
  bool one_node = false;                        // only the node that it was chosen for
  const api::NodeSelector* selector = nullptr;  // null: any node
};
NodeScope node_scope_of(const Slice& slice, const api::Device& device, const DeviceGates& gates);

}  // namespace berth::dra
