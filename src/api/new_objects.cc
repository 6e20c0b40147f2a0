#include "api/new_objects.h"

#include "api/conversions.h"

namespace berth::api {

Json to_stored_form(const ResourceInfo& resource, const KindRules& rules, Json document) {
  document = to_stored_shape(resource, std::move(document));
  if (rules.set_defaults) rules.set_defaults(document);
  return document;
}

FieldErrors validate_new(const Json& object, bool namespaced, const KindRules& rules,
                         const RuleContext& ctx) {
  FieldErrors errors = validate_meta(object, namespaced, rules);
  if (rules.validate_create) append(errors, rules.validate_create(object, ctx));
  return errors;
}

}  // namespace berth::api
