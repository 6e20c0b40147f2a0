// Each of kube-scheduler's gates switches its feature of the allocator, with 1.37's defaults.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/gates.h"
#include "dra/gates.h"

namespace berth::scheduling {
namespace {

struct Row {
  const char* gate;
  bool dra::DeviceGates::* feature;
};
constexpr Row kRows[] = {
    {"DRAAdminAccess", &dra::DeviceGates::admin_access},
    {"DRAPrioritizedList", &dra::DeviceGates::prioritized_list},
    {"DRAPartitionableDevices", &dra::DeviceGates::partitionable_devices},
    {"DRADeviceTaints", &dra::DeviceGates::device_taints},
    {"DRADeviceBindingConditions", &dra::DeviceGates::binding_conditions},
    {"DRAConsumableCapacity", &dra::DeviceGates::consumable_capacity},
    {"DRAListTypeAttributes", &dra::DeviceGates::list_attributes},
    {"DRADerivedAttributes", &dra::DeviceGates::derived_attributes},
    {"DRAOptionalNodeOperations", &dra::DeviceGates::optional_node_operations},
    {"DRANodeAllocatableResources", &dra::DeviceGates::node_allocatable_resources},
    {"DRADeviceCompatibilityGroups", &dra::DeviceGates::compatibility_groups},
    {"BerthCompatibilityGroupSnapshot", &dra::DeviceGates::compatibility_group_snapshot},
};

const api::GateInfo& info_of(std::string_view name) {
  const auto table = api::gate_table();
  return *std::find_if(table.begin(), table.end(),
                       [&](const api::GateInfo& row) { return row.name == name; });
}

TEST(Gates, DefaultsAreThoseOfTheRelease) {
  const dra::DeviceGates release = dra::gates_of(api::Gates(api::GateDefaults::Release));
  for (const Row& row : kRows) {
    EXPECT_EQ(release.*row.feature, info_of(row.gate).on_in_release) << row.gate;
    EXPECT_EQ(release.*row.feature, dra::DeviceGates{}.*row.feature) << row.gate;
  }
}

TEST(Gates, EachTurnsItsOwnFeature) {
  int turned = 0;
  for (const Row& row : kRows) {
    const api::GateInfo& info = info_of(row.gate);
    if (info.locked) continue;
    const bool wanted = !info.on_in_release;
    std::string text = std::string(row.gate) + (wanted ? "=true" : "=false");
    if (wanted && !info.needs.empty()) text = std::string(info.needs) + "=true," + text;
    const auto gates = api::Gates::parse(api::GateDefaults::Release, text);
    ASSERT_TRUE(gates.ok()) << text << ": " << gates.error().message();
    const dra::DeviceGates on = dra::gates_of(*gates);
    EXPECT_EQ(on.*row.feature, wanted) << row.gate;
    for (const Row& other : kRows) {
      if (&other == &row || info.needs.find(other.gate) != std::string_view::npos) continue;
      EXPECT_EQ(on.*other.feature, dra::DeviceGates{}.*other.feature) << row.gate << " turns " << other.gate;
    }
    ++turned;
  }
  EXPECT_GE(turned, 5);
}

}  // namespace
}  // namespace berth::scheduling
