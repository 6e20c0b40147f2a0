// DeviceClass, DeviceTaintRule and ResourcePoolStatusRequest. Source: types and strategies of
// resource.k8s.io.
#pragma once

#include "api/kind_rules.h"

namespace berth::api {

KindRules device_class_rules();
KindRules device_taint_rule_rules();
KindRules pool_status_request_rules();

}  // namespace berth::api
