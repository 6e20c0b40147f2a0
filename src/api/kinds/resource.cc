#include <array>

#include "api/kinds/resource_claim.h"
#include "api/kinds/resource_other.h"
#include "api/kinds/resource_slice.h"

namespace berth::api {

std::span<const KindRules> resource_rules() {
  static const std::array<KindRules, 6> kRows = {resource_slice_rules(),    device_class_rules(),
                                                 resource_claim_rules(),    resource_claim_template_rules(),
                                                 device_taint_rule_rules(), pool_status_request_rules()};
  return kRows;
}

}  // namespace berth::api
