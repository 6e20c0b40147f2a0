#include "api/kind_rules.h"

namespace berth::api {

FieldErrors validate_meta(const Json& object, bool namespaced, NameRule) {
  FieldErrors errors;
  const Json* metadata = object.find("metadata");
  if (!metadata || metadata->string_at("name").empty())
    errors.push_back(required("metadata.name", "name or generateName is required"));
  if (namespaced && (!metadata || metadata->string_at("namespace").empty()))
    errors.push_back(required("metadata.namespace"));
  return errors;
}

FieldErrors validate_meta_update(const Json&, const Json&) { return {}; }

}  // namespace berth::api
