#include "api/gates.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/nearest_names.h"

namespace berth::api {
namespace {

constexpr GateStage kAlpha = GateStage::Alpha;
constexpr GateStage kBeta = GateStage::Beta;
constexpr GateStage kStable = GateStage::Stable;

constexpr GateInfo kGates[] = {
    {"BerthCompatibilityGroupSnapshot", kAlpha, false, true, false, "DRADeviceCompatibilityGroups"},
    {"BerthPodLevelHealth", kAlpha, false, true, false, "ResourceHealthStatus"},
    {"BerthTopologyConstraintLevel", kAlpha, false, true, false, "TopologyAwareWorkloadScheduling"},
    {"BerthWorkloadV1Alpha2", kAlpha, false, true, false, "GenericWorkload"},
    {"CompositePodGroup", kAlpha, false, true, false, "GenericWorkload,TopologyAwareWorkloadScheduling"},
    {"DRAAdminAccess", kStable, true, true, true, ""},
    {"DRAConsumableCapacity", kBeta, true, true, false, ""},
    {"DRADerivedAttributes", kAlpha, false, true, false, ""},
    {"DRADeviceBindingConditions", kBeta, true, true, false, "DRAResourceClaimDeviceStatus"},
    {"DRADeviceCompatibilityGroups", kAlpha, false, true, false, "DRAPartitionableDevices"},
    {"DRADeviceTaintRules", kStable, true, true, false, "DRADeviceTaints"},
    {"DRADeviceTaints", kStable, true, true, false, ""},
    {"DRAExtendedResource", kStable, true, true, true, ""},
    {"DRAFractionalCapacityRange", kBeta, false, true, false, "DRAConsumableCapacity"},
    {"DRAListTypeAttributes", kAlpha, false, true, false, ""},
    {"DRANodeAllocatableResources", kAlpha, false, true, false, ""},
    {"DRAOptionalNodeOperations", kAlpha, false, true, false, ""},
    {"DRAPartitionableDevices", kBeta, true, true, false, ""},
    {"DRAPartitionableDevicesType", kAlpha, false, true, false, "DRAResourcePoolStatus"},
    {"DRAPrioritizedList", kStable, true, true, true, ""},
    {"DRAResourceClaimDeviceStatus", kStable, true, true, true, ""},
    {"DRAResourceClaimGranularStatusAuthorization", kBeta, true, true, false, ""},
    {"DRAResourcePoolStatus", kAlpha, false, true, false, ""},
    {"DRASchedulerFilterTimeout", kBeta, true, true, false, ""},
    {"DRAWorkloadResourceClaims", kBeta, false, true, false, "GenericWorkload"},
    {"DynamicResourceAllocation", kStable, true, true, true, ""},
    {"GenericWorkload", kBeta, false, true, false, ""},
    {"InPlacePodVerticalScalingSchedulerPreemption", kAlpha, false, true, false, ""},
    {"NominatedNodeNameForExpectation", kBeta, true, true, false, ""},
    {"OpportunisticBatching", kBeta, true, true, false, ""},
    {"PodGroupPreemptionPolicy", kAlpha, false, true, false, "GenericWorkload"},
    {"ResourceHealthStatus", kBeta, true, true, false, ""},
    {"ResourceHealthStatusMessage", kBeta, true, true, false, "ResourceHealthStatus"},
    {"SchedulerAsyncAPICalls", kBeta, false, false, false, ""},
    {"SchedulerAsyncPreemption", kBeta, true, true, false, ""},
    {"TopologyAwareWorkloadScheduling", kAlpha, false, true, false, "GenericWorkload"},
    {"WorkloadWithJob", kAlpha, false, true, false, "GenericWorkload"},
};

constexpr std::size_t kNoRow = std::size(kGates);

std::size_t row_of(std::string_view name) {
  const auto* found = std::find_if(std::begin(kGates), std::end(kGates),
                                   [&](const GateInfo& gate) { return gate.name == name; });
  return static_cast<std::size_t>(found - std::begin(kGates));
}

// A name that is this many edits away from the nearest gate is no misspelling of it.
constexpr std::size_t kEditsMax = 4;

// "; did you mean …?", or what else to do.
std::string hint_for(std::string_view name) {
  const GateInfo* nearest = nullptr;
  std::size_t edits = kEditsMax;
  for (const GateInfo& gate : kGates)
    if (const std::size_t here = edit_distance(name, gate.name); here < edits) {
      nearest = &gate;
      edits = here;
    }
  if (nearest) return "; did you mean " + std::string(nearest->name) + "?";
  return "; leave it out: gates that are not listed in docs/kep-matrix.md change nothing in Berth";
}

Error refused(std::string_view name, std::string_view why) {
  return Error(ErrorCode::Invalid, "--feature-gates", "\"" + std::string(name) + "\" " + std::string(why));
}

}  // namespace

std::span<const GateInfo> gate_table() {
  return kGates;
}

Gates::Gates(GateDefaults defaults) : on_(std::size(kGates)), named_(std::size(kGates)) {
  for (std::size_t row = 0; row < on_.size(); ++row)
    on_[row] = defaults == GateDefaults::Up ? kGates[row].on_in_up : kGates[row].on_in_release;
}

Result<Gates> Gates::parse(GateDefaults defaults, std::string_view text, GateLocks locks) {
  Gates gates(defaults);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos)
      return refused(entry, "has no value: write NAME=true or NAME=false");
    if (Status set = gates.set(entry.substr(0, equals), entry.substr(equals + 1), locks); !set)
      return set.error();
  }
  gates.drop_needy_defaults();
  if (Status checked = gates.check_needs(); !checked) return checked.error();
  return gates;
}

Status Gates::set(std::string_view name, std::string_view value, GateLocks locks) {
  const std::size_t row = row_of(name);
  if (row == kNoRow) return refused(name, "is no feature gate known here" + hint_for(name));
  if (value != "true" && value != "false") return refused(name, "takes true or false");
  const bool on = value == "true";
  if (locks == GateLocks::Held && kGates[row].locked && on != kGates[row].on_in_release)
    return refused(name, "is stable in 1.37 and cannot be changed");
  on_[row] = on;
  named_[row] = true;
  return {};
}

std::string_view Gates::missing_need(std::size_t row) const {
  std::string_view needs = kGates[row].needs;
  while (!needs.empty()) {
    const std::size_t comma = needs.find(',');
    const std::string_view need = needs.substr(0, comma);
    if (!enabled(need)) return need;
    needs = comma == std::string_view::npos ? std::string_view() : needs.substr(comma + 1);
  }
  return {};
}

void Gates::drop_needy_defaults() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (std::size_t row = 0; row < on_.size(); ++row) {
      if (!on_[row] || named_[row] || missing_need(row).empty()) continue;
      on_[row] = false;
      changed = true;
    }
  }
}

Status Gates::check_needs() const {
  for (std::size_t row = 0; row < on_.size(); ++row) {
    if (!on_[row]) continue;
    if (const std::string_view need = missing_need(row); !need.empty())
      return refused(kGates[row].name, "needs " + std::string(need) + "=true");
  }
  return {};
}

bool Gates::enabled(std::string_view name) const {
  const std::size_t row = row_of(name);
  BERTH_ASSERT(row != kNoRow, "every gate that code asks for is in the table");
  return on_[row];
}

}  // namespace berth::api
