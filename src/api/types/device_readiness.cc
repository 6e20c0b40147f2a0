#include "api/types/device_readiness.h"

#include <algorithm>

#include "base/json.h"

namespace berth::api {
namespace {

std::string name_of_device(const DeviceResult& result) {
  return result.driver + "/" + result.pool + "/" + result.device;
}

bool is_about(const AllocatedDeviceStatus& status, const DeviceResult& result) {
  return status.driver == result.driver && status.pool == result.pool && status.device == result.device;
}

// The entry of this very share takes precedence over one without a share.
const AllocatedDeviceStatus* status_of(const ResourceClaim& claim, const DeviceResult& result) {
  const AllocatedDeviceStatus* loose = nullptr;
  for (const AllocatedDeviceStatus& status : claim.devices) {
    if (!is_about(status, result)) continue;
    if (status.share_id == result.share_id) return &status;
    if (!loose && (status.share_id.empty() || result.share_id.empty())) loose = &status;
  }
  return loose;
}

std::optional<ConditionFailure> failure_of(const DeviceResult& result, const AllocatedDeviceStatus& status) {
  for (const std::string& type : result.binding_failure_conditions) {
    if (!condition_is_true(status.conditions, type)) continue;
    const Condition& condition = *find_condition(status.conditions, type);
    return ConditionFailure{name_of_device(result), type, condition.reason, condition.message};
  }
  return std::nullopt;
}

const std::string* missing_condition(const DeviceResult& result, const AllocatedDeviceStatus* status) {
  for (const std::string& type : result.binding_conditions)
    if (!status || !condition_is_true(status->conditions, type)) return &type;
  return nullptr;
}

}  // namespace

std::string failure_text(const std::string& claim, const ConditionFailure& failure) {
  std::string text = "device binding failed: claim=" + claim + ", reason=" + failure.reason + ", message=";
  append_json_string(text, failure.message);
  return text;
}

DeviceReadiness readiness_of(const ResourceClaim& claim) {
  DeviceReadiness readiness;
  if (!claim.allocation) return readiness;
  for (const DeviceResult& result : claim.allocation->results) {
    if (result.binding_conditions.empty()) continue;
    const AllocatedDeviceStatus* status = status_of(claim, result);
    if (status && !readiness.failure) readiness.failure = failure_of(result, *status);
    const std::string* missing = missing_condition(result, status);
    if (!missing || !readiness.pending_device.empty()) continue;
    readiness.pending_device = name_of_device(result);
    readiness.pending_condition = *missing;
  }
  return readiness;
}

Time binding_deadline(const ResourceClaim& claim, Duration timeout) {
  if (!claim.allocation || !claim.allocation->timestamp.is_set()) return {};
  return claim.allocation->timestamp + timeout;
}

}  // namespace berth::api
