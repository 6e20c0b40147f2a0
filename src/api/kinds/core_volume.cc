// Rules of core/v1 PersistentVolume and PersistentVolumeClaim, and of storage.k8s.io/v1 StorageClass:
// defaults, the phase of new objects, and the spec of claims. Sources of volumes and of data are not
// validated.
#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"
#include "api/kinds/warning_parts.h"
#include "api/types/volumes.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

void set_spec_default(Json& object, std::string_view spec_type, std::string_view field, const char* value) {
  if (present(object, "spec")) put_default(object["spec"], core_type(spec_type), field, value);
}

void set_volume_defaults(Json& volume) {
  set_spec_default(volume, "PersistentVolumeSpec", "persistentVolumeReclaimPolicy", "Retain");
  set_spec_default(volume, "PersistentVolumeSpec", "volumeMode", "Filesystem");
}

void set_claim_defaults(Json& claim) {
  set_spec_default(claim, "PersistentVolumeClaimSpec", "volumeMode", "Filesystem");
}

void set_class_defaults(Json& storage_class) {
  static const TypeInfo& type = table_type("storage.k8s.io", "v1", "StorageClass");
  put_default(storage_class, type, "reclaimPolicy", "Delete");
  put_default(storage_class, type, "volumeBindingMode", "Immediate");
}

FieldErrors check_access_modes(const FieldPath& path, const Json* spec) {
  constexpr std::string_view kOncePod = "ReadWriteOncePod";
  FieldErrors errors;
  bool once_pod = false, others = false;
  for (const Json& item : items(spec, "accessModes")) {
    const std::string_view mode = item.is_string() ? std::string_view(item.as_string()) : std::string_view();
    const FieldErrors unknown =
        check_one_of(path, mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", kOncePod});
    if (unknown.empty()) (mode == kOncePod ? once_pod : others) = true;
    append(errors, unknown);
  }
  if (once_pod && others)
    errors.push_back(forbidden(path, "may not use ReadWriteOncePod with other access modes"));
  return errors;
}

const Json* storage_request_of(const Json* spec) {
  return spec ? present_at(*spec, {"resources", "requests", "storage"}) : nullptr;
}

FieldErrors check_storage_request(const std::string& path, const Json* storage) {
  if (!storage) return {required(path)};
  const Result<Quantity> amount = parse_quantity(storage->as_string());
  if (!amount || !(amount->is_negative() || amount->is_zero())) return {};
  return {invalid(path, *storage, "must be greater than zero")};
}

FieldErrors validate_volume_claim(const Json& claim, const RuleContext&) {
  const FieldPath path("spec");
  const Json* spec = present(claim, "spec");
  FieldErrors errors;
  if (items(spec, "accessModes").empty())
    errors.push_back(required(path.child("accessModes"), "at least 1 access mode is required"));
  if (const Json* selector = present(spec, "selector"))
    append(errors, check_label_selector(path.child("selector"), *selector));
  append(errors, check_access_modes(path.child("accessModes"), spec));
  append(errors, check_storage_request(path.child("resources").key("storage"), storage_request_of(spec)));
  if (!spec) return errors;
  if (const std::string_view name = spec->string_at("storageClassName"); !name.empty())
    append(errors, check_format(path.child("storageClassName"), name, dns_subdomain_problems));
  if (const Json* mode = present(spec, "volumeMode"))
    append(errors, check_one_of(path.child("volumeMode"), mode->as_string(), {"Block", "Filesystem"}));
  return errors;
}

// What may differ from the stored spec: the volume and the class of a claim without one; the size and the
// attributes of a bound claim.
FieldErrors validate_volume_claim_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = validate_volume_claim(next, ctx);
  const Json *spec = present(next, "spec"), *stored = present(old, "spec");
  if (!spec || !stored) return errors;
  const Json* status = present(next, "status");
  const bool bound = status && status->string_at("phase") == "Bound";
  bool changed = false;
  for (std::string_view key : {"accessModes", "selector", "volumeMode", "dataSource", "dataSourceRef"})
    changed |= !same(present(spec, key), present(stored, key));
  changed |= !stored->string_at("volumeName").empty() &&
             spec->string_at("volumeName") != stored->string_at("volumeName");
  const Json* storage_class = present(stored, "storageClassName");
  changed |= storage_class && !same(storage_class, present(spec, "storageClassName"));
  for (std::string_view key : {"resources", "volumeAttributesClassName"})
    changed |= !bound && !same(present(spec, key), present(stored, key));
  if (changed)
    errors.push_back(forbidden("spec",
                               "spec is immutable after creation except resources.requests and "
                               "volumeAttributesClassName for bound claims"));
  return errors;
}

KindRules rules_for(std::string_view group, std::string_view resource, void (*set_defaults)(Json&)) {
  KindRules rules;
  rules.group = group;
  rules.resource = resource;
  rules.answers_deleted_object = true;
  rules.set_defaults = set_defaults;
  return rules;
}

}  // namespace

KindRules persistent_volume_rules() {
  KindRules rules = rules_for("", "persistentvolumes", set_volume_defaults);
  rules.warnings = [](const Json& object, const Json*, const RuleContext&) {
    return persistent_volume_warnings(object);
  };
  rules.prepare_create = [](Json& volume, const RuleContext& ctx) {
    put(volume, core_type("PersistentVolume"), "status",
        Json::object({{"phase", "Pending"}, {"lastPhaseTransitionTime", format_time(ctx.now)}}));
  };
  rules.admit_create = [](Json& volume, const RuleContext&) -> std::optional<Rejection> {
    add_finalizer(volume, kVolumeProtection);
    return std::nullopt;
  };
  return rules;
}

KindRules persistent_volume_claim_rules() {
  KindRules rules = rules_for("", "persistentvolumeclaims", set_claim_defaults);
  rules.warnings = [](const Json& object, const Json*, const RuleContext&) {
    return volume_claim_warnings(object);
  };
  rules.prepare_create = [](Json& claim, const RuleContext&) {
    put(claim, core_type("PersistentVolumeClaim"), "status", Json::object({{"phase", "Pending"}}));
  };
  rules.admit_create = [](Json& claim, const RuleContext& ctx) {
    add_finalizer(claim, kVolumeClaimProtection);
    return admit_claim_limits(claim, ctx);
  };
  rules.validate_create = validate_volume_claim;
  rules.validate_update = validate_volume_claim_update;
  return rules;
}

KindRules storage_class_rules() {
  KindRules rules = rules_for("storage.k8s.io", "storageclasses", set_class_defaults);
  rules.warnings = [](const Json& object, const Json*, const RuleContext&) {
    return storage_class_warnings(object);
  };
  return rules;
}

}  // namespace berth::api
