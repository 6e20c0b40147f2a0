// The features that are on: Kubernetes' gates by feature, with their defaults in 1.37, and a node's declared
// features.
//
// Plain data; every room may include it.
#pragma once

namespace berth::api {
class Gates;
}
namespace berth::model {
struct NodeRow;
}

namespace berth::dra {

struct DeviceGates {
  bool admin_access = true;
  bool prioritized_list = true;
  bool partitionable_devices = true;
  bool device_taints = true;
  bool binding_conditions = true;
  bool consumable_capacity = true;
  bool list_attributes = false;
  bool derived_attributes = false;
  bool optional_node_operations = false;
  bool node_allocatable_resources = false;
  bool compatibility_groups = false;
  // BerthCompatibilityGroupSnapshot: write results[].compatibilityGroups.
  bool compatibility_group_snapshot = false;
};

// By Kubernetes' gate names.
DeviceGates gates_of(const api::Gates& gates);

// Whether the node declares support for devices whose node operations are skipped. Source:
// DRAOptionalNodeOperations.
bool can_skip_operations(const model::NodeRow& node);

}  // namespace berth::dra
