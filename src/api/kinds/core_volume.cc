// Rules of core/v1 PersistentVolumeClaim: defaults, the phase of new claims, and their spec. Sources of data
// are not validated.
#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"
#include "api/kinds/warning_parts.h"
#include "api/types/volumes.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

void set_claim_defaults(Json& claim) {
  if (Json* spec = present(claim, "spec"))
    put_default(*spec, core_type("PersistentVolumeClaimSpec"), "volumeMode", "Filesystem");
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

}  // namespace

KindRules persistent_volume_claim_rules() {
  KindRules rules;
  rules.group = "";
  rules.resource = "persistentvolumeclaims";
  rules.answers_deleted_object = true;
  rules.set_defaults = set_claim_defaults;
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

}  // namespace berth::api
