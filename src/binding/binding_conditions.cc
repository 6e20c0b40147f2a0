#include "binding/binding_conditions.h"

#include <algorithm>

namespace berth::binding {
namespace {

std::string name_of_device(const api::DeviceResult& result) {
  return result.driver + "/" + result.pool + "/" + result.device;
}

bool is_about(const api::AllocatedDeviceStatus& status, const api::DeviceResult& result) {
  return status.driver == result.driver && status.pool == result.pool && status.device == result.device;
}

// The entry of this very share stands before one that names no share.
const api::AllocatedDeviceStatus* status_of(const api::ResourceClaim& claim,
                                            const api::DeviceResult& result) {
  const api::AllocatedDeviceStatus* loose = nullptr;
  for (const api::AllocatedDeviceStatus& status : claim.devices) {
    if (!is_about(status, result)) continue;
    if (status.share_id == result.share_id) return &status;
    if (!loose && (status.share_id.empty() || result.share_id.empty())) loose = &status;
  }
  return loose;
}

std::optional<ConditionFailure> failure_of(const api::DeviceResult& result,
                                           const api::AllocatedDeviceStatus& status) {
  for (const std::string& type : result.binding_failure_conditions) {
    if (!api::condition_is_true(status.conditions, type)) continue;
    const api::Condition& condition = *api::find_condition(status.conditions, type);
    return ConditionFailure{name_of_device(result), type, condition.reason, condition.message};
  }
  return std::nullopt;
}

const std::string* missing_condition(const api::DeviceResult& result,
                                     const api::AllocatedDeviceStatus* status) {
  for (const std::string& type : result.binding_conditions)
    if (!status || !api::condition_is_true(status->conditions, type)) return &type;
  return nullptr;
}

}  // namespace

DeviceReadiness readiness_of(const api::ResourceClaim& claim) {
  DeviceReadiness readiness;
  if (!claim.allocation) return readiness;
  for (const api::DeviceResult& result : claim.allocation->results) {
    if (result.binding_conditions.empty()) continue;
    const api::AllocatedDeviceStatus* status = status_of(claim, result);
    if (status && !readiness.failure) readiness.failure = failure_of(result, *status);
    const std::string* missing = missing_condition(result, status);
    if (!missing || !readiness.pending_device.empty()) continue;
    readiness.pending_device = name_of_device(result);
    readiness.pending_condition = *missing;
  }
  return readiness;
}

Time binding_deadline(const api::ResourceClaim& claim, Duration timeout) {
  if (!claim.allocation || !claim.allocation->timestamp.is_set()) return {};
  return claim.allocation->timestamp + timeout;
}

}  // namespace berth::binding
