// Schemas and documents as a test writes them.
#pragma once

#include <string>
#include <string_view>

#include "api/field_error.h"
#include "base/json.h"
#include "crd/schema.h"

namespace berth::crd {

inline Json json(std::string_view text) {
  return parse_json(text).value();
}
inline Schema schema(std::string_view text) {
  return read_schema(json(text));
}
// "" for none.
inline std::string text_of(const api::FieldErrors& errors) {
  return api::to_text(errors);
}

}  // namespace berth::crd
