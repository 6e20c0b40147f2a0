#include "dra/gates.h"

#include "api/gates.h"

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

}  // namespace berth::dra
