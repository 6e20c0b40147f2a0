// resource.k8s.io/v1 DeviceTaintRule: a taint for devices that an administrator selects, not their driver.
// Source: KEP-5055.
#pragma once

#include "api/types/dra.h"

namespace berth::api {

// Absent members of spec.deviceSelector are empty here; all empty selects every device. `nil_selector`: the
// rule has no selector at all, which Kubernetes' slice tracker reads as every device and its eviction
// controller as none.
struct DeviceTaintRule {
  RawPtr raw;
  ObjectMeta meta;
  bool nil_selector = false;
  std::string driver, pool, device;
  Taint taint;
  std::vector<Condition> conditions;

  bool selects(std::string_view of_driver, std::string_view of_pool) const {
    return (driver.empty() || driver == of_driver) && (pool.empty() || pool == of_pool);
  }
  bool selects(std::string_view of_driver, std::string_view of_pool, std::string_view name) const {
    return selects(of_driver, of_pool) && (device.empty() || device == name);
  }
};

inline constexpr std::string_view kNoSchedule = "NoSchedule";
inline constexpr std::string_view kNoExecute = "NoExecute";

DeviceTaintRule decode_device_taint_rule(const Json& object, RawPtr raw);

}  // namespace berth::api
