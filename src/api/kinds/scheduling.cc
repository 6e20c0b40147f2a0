#include <array>

#include "api/kinds/scheduling_kinds.h"

namespace berth::api {

std::span<const KindRules> scheduling_rules() {
  static const std::array<KindRules, 9> kRows = {
      priority_class_rules(),      workload_kind_rules(), pod_group_rules(),
      composite_pod_group_rules(), bind_request_rules(),  device_health_policy_rules(),
      node_device_health_rules(),  topology_rules(),      placement_policy_rules()};
  return kRows;
}

}  // namespace berth::api
