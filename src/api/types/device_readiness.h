// Whether the devices of an allocated claim are ready for binding (KEP-5007).
//
// The snapshot in the allocation is authoritative, not the slice. A failure of any device takes precedence
// over "not yet" of another. Status entries are matched by driver, pool, device and, where both sides have
// one, shareID.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/types/dra.h"

namespace berth::api {

struct ConditionFailure {
  std::string device;     // driver/pool/device
  std::string condition;  // its type
  std::string reason;
  std::string message;
};

// The binder's reasons for a wait that ended this way.
inline constexpr std::string_view kBindingConditionsFailed = "BindingConditionsFailed";
inline constexpr std::string_view kBindingTimeout = "BindingTimeout";

// "device binding failed: claim=c, reason=R, message=\"m\"", kube-scheduler's text.
std::string failure_text(const std::string& claim, const ConditionFailure& failure);

struct DeviceReadiness {
  std::optional<ConditionFailure> failure;  // the first, in order of results
  std::string pending_device;               // the first that is not ready; empty: all are
  std::string pending_condition;

  bool ready() const { return !failure && pending_device.empty(); }
};

// A claim without allocation, and results without binding conditions, are ready.
DeviceReadiness readiness_of(const ResourceClaim& claim);

// allocationTimestamp + timeout; not set without a timestamp.
Time binding_deadline(const ResourceClaim& claim, Duration timeout);

}  // namespace berth::api
