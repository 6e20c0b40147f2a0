// Documents as a test writes them.
#pragma once

#include <string_view>

#include "base/json.h"

namespace berth::apply {

inline Json json(std::string_view text) {
  return parse_json(text).value();
}

}  // namespace berth::apply
