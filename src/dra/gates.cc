#include "dra/gates.h"

#include <algorithm>

#include "api/gates.h"
#include "model/cluster.h"

namespace berth::dra {

DeviceGates gates_of(const api::Gates& gates) {
  DeviceGates on;
  on.admin_access = gates.enabled("DRAAdminAccess");
  on.prioritized_list = gates.enabled("DRAPrioritizedList");
  on.partitionable_devices = gates.enabled("DRAPartitionableDevices");
  on.device_taints = gates.enabled("DRADeviceTaints");
  on.binding_conditions = gates.enabled("DRADeviceBindingConditions");
  on.consumable_capacity = gates.enabled("DRAConsumableCapacity");
  on.list_attributes = gates.enabled("DRAListTypeAttributes");
  on.derived_attributes = gates.enabled("DRADerivedAttributes");
  on.optional_node_operations = gates.enabled("DRAOptionalNodeOperations");
  on.node_allocatable_resources = gates.enabled("DRANodeAllocatableResources");
  on.compatibility_groups = gates.enabled("DRADeviceCompatibilityGroups");
  on.compatibility_group_snapshot = gates.enabled("BerthCompatibilityGroupSnapshot");
  return on;
}

bool can_skip_operations(const model::NodeRow& node) {
  if (!node.live) return false;
  const std::vector<std::string>& declared = node.live->declared_features;
  return std::find(declared.begin(), declared.end(), "DRAOptionalNodeOperations") != declared.end();
}

}  // namespace berth::dra
