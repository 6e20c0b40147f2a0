#include "api/kind_rules.h"

namespace berth::api {

std::span<const KindRules> scheduling_rules() { return {}; }

}  // namespace berth::api
