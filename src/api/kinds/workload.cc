#include "api/kind_rules.h"

namespace berth::api {

std::span<const KindRules> workload_rules() {
  return {};
}

}  // namespace berth::api
