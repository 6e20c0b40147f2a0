// Schemas and documents as a test writes them.
#pragma once

#include <string>
#include <string_view>

#include "api/field_error.h"
#include "base/json.h"
#include "base/testing/source_dir.h"
#include "base/text_file.h"
#include "crd/rules.h"
#include "crd/schema.h"
#include "crd/structure_check.h"
#include "crd/values.h"

namespace berth::crd {

inline Json json(std::string_view text) {
  return parse_json(text).value();
}
// A file of the source tree.
inline Json json_file(const std::string& path) {
  constexpr std::size_t kFileBytesMax = 16u << 20;
  return json(read_text_file(source_path(path), kFileBytesMax).value());
}
inline Schema schema(std::string_view text) {
  return read_schema(json(text));
}
// With a budget of their own.
inline api::FieldErrors value_errors_of(const Json& value, const Json* old, const Schema& schema) {
  ObjectBudget budget;
  return check_value(value, old, schema, LazyPath(""), budget);
}
inline api::FieldErrors rule_errors_of(const RuleSet& rules, const Schema& schema, const Json& value,
                                       const Json* old) {
  ObjectBudget budget;
  return check_rules(rules, schema, value, old, LazyPath(""), budget);
}
inline std::shared_ptr<const RuleSet> rules_of(const Schema& schema) {
  DefinitionBudget budget;
  return compile_rules(schema, budget);
}
inline api::FieldErrors schema_errors_of(const Json& props) {
  DefinitionBudget budget;
  return check_schema(props, "s", false, budget);
}
// "" for none.
inline std::string text_of(const api::FieldErrors& errors) {
  return api::to_text(errors);
}

}  // namespace berth::crd
