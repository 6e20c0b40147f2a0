// Rules of storage.k8s.io/v1 StorageClass.
//
// Source: pkg/apis/storage/validation of Kubernetes 1.37; the order of the errors is that of the source.
#include <map>
#include <set>

#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/warning_parts.h"
#include "base/ascii.h"

namespace berth::api {
namespace {

constexpr std::size_t kParametersMax = 512, kParameterBytesMax = 256u << 10;

void set_defaults(Json& storage_class) {
  static const TypeInfo& type = table_type("storage.k8s.io", "v1", "StorageClass");
  put_default(storage_class, type, "reclaimPolicy", "Delete");
  put_default(storage_class, type, "volumeBindingMode", "Immediate");
}

FieldErrors check_parameters(const FieldPath& path, const JsonObject& parameters) {
  if (parameters.size() > kParametersMax) return {too_long(path, kParametersMax)};
  FieldErrors errors;
  std::size_t bytes = 0;
  for (const JsonMember& parameter : parameters) {
    if (parameter.key.empty()) errors.push_back(invalid(path, parameter.key, "field can not be empty."));
    bytes += parameter.key.size() + parameter.value.as_string().size();
  }
  if (bytes > kParameterBytesMax) errors.push_back(too_long(path, kParameterBytesMax));
  return errors;
}

using LabelValues = std::map<std::string_view, std::set<std::string_view>>;

// Adds the requirement to `labels`.
FieldErrors check_topology_label(const FieldPath& path, const Json& label, LabelValues& labels) {
  FieldErrors errors;
  const std::string_view key = label.string_at("key");
  const JsonArray& values = items(&label, "values");
  std::set<std::string_view> seen;
  if (values.empty()) errors.push_back(required(path.child("values")));
  for (std::size_t i = 0; i < values.size() && !errors.full(); ++i)
    if (!seen.insert(values[i].as_string()).second)
      errors.push_back(duplicate(path.child("values").index(i), values[i]));
  append(errors, check_format(path.child("key"), key, qualified_name_problems));
  if (!labels.try_emplace(key, std::move(seen)).second) errors.push_back(duplicate(path.child("key"), key));
  return errors;
}

// A term without labels counts as a duplicate, as it does there.
FieldErrors check_topologies(const FieldPath& path, const JsonArray& terms) {
  FieldErrors errors;
  std::set<LabelValues> seen = {LabelValues()};
  for (std::size_t i = 0; i < terms.size() && !errors.full(); ++i) {
    const FieldPath at = path.index(i).child("matchLabelExpressions");
    const JsonArray& wanted = items(&terms[i], "matchLabelExpressions");
    LabelValues labels;
    for (std::size_t k = 0; k < wanted.size() && !errors.full(); ++k)
      append(errors, check_topology_label(at.index(k), wanted[k], labels));
    if (!seen.insert(std::move(labels)).second) errors.push_back(duplicate(at, ""));
  }
  return errors;
}

FieldErrors validate(const Json& object, const RuleContext&) {
  FieldErrors errors;
  const std::string_view provisioner = object.string_at("provisioner");
  if (!provisioner.empty())
    append(errors, check_format("provisioner", to_lower(provisioner), qualified_name_problems));
  append(errors, check_parameters(FieldPath("parameters"), entries(present(object, "parameters"))));
  append(errors, check_one_of("reclaimPolicy", object.string_at("reclaimPolicy"), {"Delete", "Retain"}));
  append(errors, check_one_of("volumeBindingMode", object.string_at("volumeBindingMode"),
                              {"Immediate", "WaitForFirstConsumer"}));
  append(errors, check_topologies(FieldPath("allowedTopologies"), items(&object, "allowedTopologies")));
  if (provisioner.empty()) errors.push_back(required("provisioner"));
  return errors;
}

FieldErrors validate_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = validate(next, ctx);
  for (const std::string_view field : {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"})
    if (!same(present(next, field), present(old, field)))
      errors.push_back(invalid(std::string(field), Json(), "field is immutable"));
  return errors;
}

}  // namespace

KindRules storage_class_rules() {
  KindRules rules;
  rules.group = "storage.k8s.io";
  rules.resource = "storageclasses";
  rules.answers_deleted_object = true;
  rules.set_defaults = set_defaults;
  rules.warnings = [](const Json& object, const Json*, const RuleContext&) {
    return storage_class_warnings(object);
  };
  rules.validate_create = validate;
  rules.validate_update = validate_update;
  return rules;
}

}  // namespace berth::api
