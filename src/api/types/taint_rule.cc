#include "api/types/taint_rule.h"

namespace berth::api {

DeviceTaintRule decode_device_taint_rule(const Json& object, RawPtr raw) {
  DeviceTaintRule rule = begin_decoded<DeviceTaintRule>(object, std::move(raw));
  const Json& spec = object.part("spec");
  const Json& selector = spec.part("deviceSelector");
  rule.nil_selector = !selector.is_object();
  rule.driver = selector.string_at("driver");
  rule.pool = selector.string_at("pool");
  rule.device = selector.string_at("device");
  rule.taint = decode_taint(spec.part("taint"));
  rule.conditions = decode_conditions(object.part("status").items_at("conditions"));
  return rule;
}

}  // namespace berth::api
