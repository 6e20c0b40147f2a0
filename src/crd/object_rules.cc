#include "crd/object_rules.h"

#include <limits>

#include "api/decode.h"
#include "cel/value.h"
#include "crd/rules.h"
#include "crd/shaping.h"
#include "crd/values.h"

namespace berth::crd {
namespace {

using api::FieldErrors;

const ServedVersion& version_of(const api::RuleContext& ctx) {
  return *served_version(*ctx.resource);
}

std::string go_type(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_double()) return "float64";
  return value.is_array() ? "[]interface {}" : "map[string]interface {}";
}

std::string go_text(const Json& value) {
  if (value.is_string()) return value.as_string();
  return value.is_double() ? cel::double_text(value.as_double()) : to_string(value);
}

// A count of replicas: whole, not negative, within 32 bits. An absent one is 0.
void check_replicas(FieldErrors& errors, const Json& object, const MemberPath& path) {
  const Json* value = value_at(object, path.members);
  if (!value || value->is_null()) return;
  if (!value->is_int())
    return errors.push_back(api::invalid(path.text, 0,
                                         path.text + " accessor error: " + go_text(*value) +
                                             " is of the type " + go_type(*value) + ", expected int64"));
  if (value->as_int() < 0)
    errors.push_back(api::invalid(path.text, *value, "should be a non-negative integer"));
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (value->as_int() > kMost)
    errors.push_back(
        api::invalid(path.text, *value, "should be less than or equal to " + std::to_string(kMost)));
}

void check_scale(FieldErrors& errors, const Json& object, const ServedVersion& version, bool with_spec) {
  if (!version.scale) return;
  if (with_spec) check_replicas(errors, object, version.scale->replicas);
  check_replicas(errors, object, version.scale->status_replicas);
  if (!version.scale->selector) return;
  const Json* selector = value_at(object, version.scale->selector->members);
  if (selector && !selector->is_null() && !selector->is_string())
    errors.push_back(api::invalid(version.scale->selector->text, "",
                                  version.scale->selector->text + " accessor error: " + go_text(*selector) +
                                      " is of the type " + go_type(*selector) + ", expected string"));
}

// Without kind, apiVersion and metadata, which have rules of their own.
FieldErrors value_errors(const Json& object, const Json* old, const ServedVersion& version) {
  ObjectBudget budget;
  FieldErrors errors = check_value(object, old, version.schema, LazyPath(""), budget);
  check_scale(errors, object, version, true);
  api::append(errors, check_embedded(object, version.schema));
  api::append(errors, check_lists(object, version.schema));
  // Rules see only values of the types that they were compiled for.
  if (errors.empty() && version.rules)
    errors = check_rules(*version.rules, version.schema, object, old, LazyPath(""), budget);
  return errors;
}

FieldErrors custom_validate_create(const Json& object, const api::RuleContext& ctx) {
  return value_errors(object, nullptr, version_of(ctx));
}

FieldErrors custom_validate_update(const Json& next, const Json& old, const api::RuleContext& ctx) {
  return value_errors(next, &old, version_of(ctx));
}

FieldErrors custom_validate_status_update(const Json& next, const Json& old, const api::RuleContext& ctx) {
  const ServedVersion& version = version_of(ctx);
  const Schema* schema = version.schema.property("status");
  FieldErrors errors;
  ObjectBudget budget;
  if (const Json* status = next.find("status"); status && schema) {
    for (api::FieldError& error : check_value(*status, old.find("status"), *schema, LazyPath(""), budget)) {
      error.path = error.path.empty() || error.path == "<nil>" ? "status" : "status." + error.path;
      errors.push_back(std::move(error));
    }
    api::append(errors, check_embedded(*status, *schema, LazyPath("status")));
    api::append(errors, check_lists(*status, *schema, LazyPath("status")));
  }
  check_scale(errors, next, version, false);
  if (errors.empty() && version.rules)
    errors = check_rules(*version.rules, version.schema, next, &old, LazyPath(""), budget);
  return errors;
}

// The status of a new object is its controller's to write, where it has an endpoint of its own.
void custom_prepare_create(Json& object, const api::RuleContext& ctx) {
  if (version_of(ctx).has_status) object.as_object().erase("status");
}

std::optional<api::Rejection> custom_admit_create(Json&, const api::RuleContext& ctx) {
  if (!version_of(ctx).definition->terminating) return std::nullopt;
  return api::Rejection{405, "MethodNotAllowed",
                        "create not allowed while custom resource definition is terminating"};
}

api::KindRules made_object_rules() {
  api::KindRules rules;
  rules.has_generation = true;
  rules.needs_version_on_update = true;
  rules.plain_finalizers = true;
  rules.admit_create = custom_admit_create;
  rules.prepare_create = custom_prepare_create;
  rules.validate_create = custom_validate_create;
  rules.validate_update = custom_validate_update;
  rules.validate_status_update = custom_validate_status_update;
  return rules;
}

Result<Json> canonical_metadata(const Json& metadata, std::vector<std::string>& strict_errors) {
  static const api::TypeInfo& type = *api::find_type("meta.k8s.io", "v1", "ObjectMeta");
  if (!metadata.is_object())
    return Error(ErrorCode::Invalid, "json: cannot unmarshal " +
                                         std::string(metadata.is_array() ? "array" : "value") +
                                         " into Go struct field .metadata of type v1.ObjectMeta");
  Result<api::Decoded> decoded = api::decode_document(type, metadata);
  if (!decoded) return decoded.error();
  for (const std::string& error : decoded->strict_errors) {
    const auto unknown = unknown_member(error);
    strict_errors.push_back(unknown ? unknown_member_error("metadata." + std::string(*unknown)) : error);
  }
  // Go omits an empty creation time of unstructured objects.
  if (const Json* time = decoded->document.find("creationTimestamp"); time && time->is_null())
    decoded->document.as_object().erase("creationTimestamp");
  return std::move(decoded->document);
}

}  // namespace

const api::KindRules& object_rules() {
  static const api::KindRules kRules = made_object_rules();
  return kRules;
}

Result<ShapedObject> shaped(const ServedVersion& version, Json document) {
  ShapedObject made;
  if (!document.is_object()) document = Json::object();
  if (const Json* metadata = std::as_const(document).find("metadata"); metadata && !metadata->is_null()) {
    Result<Json> canonical = canonical_metadata(*metadata, made.strict_errors);
    if (!canonical) return canonical.error();
    document["metadata"] = std::move(canonical).value();
  } else {
    document.as_object().erase("metadata");
  }
  for (const std::string& path : prune(document, version.schema, true))
    made.strict_errors.push_back(unknown_member_error(path));
  for (const std::string& path : tidy_embedded(document, version.schema))
    made.strict_errors.push_back(unknown_member_error(path));
  if (!fill_defaults(document, version.schema))
    return Error(ErrorCode::TooLarge,
                 "the defaults of the object are more than " + std::to_string(kFallbackBytesMax) + " bytes");
  made.document = std::move(document);
  return made;
}

void shape_stored(const Definition& definition, Json& document) {
  const ServedVersion* version = find_version(definition, document.string_at("apiVersion"));
  if (!version) return;
  prune(document, version->schema, true);
  tidy_embedded(document, version->schema);
  fill_defaults(document, version->schema);
}

}  // namespace berth::crd
