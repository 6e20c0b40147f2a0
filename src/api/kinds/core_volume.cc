// Rules of core/v1 PersistentVolume and PersistentVolumeClaim, and of storage.k8s.io/v1 StorageClass:
// defaults, and the phase of new objects. Sources of volumes are not validated.
#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"

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
  rules.prepare_create = [](Json& volume, const RuleContext& ctx) {
    put(volume, core_type("PersistentVolume"), "status",
        Json::object({{"phase", "Pending"}, {"lastPhaseTransitionTime", format_time(ctx.now)}}));
  };
  return rules;
}

KindRules persistent_volume_claim_rules() {
  KindRules rules = rules_for("", "persistentvolumeclaims", set_claim_defaults);
  rules.prepare_create = [](Json& claim, const RuleContext&) {
    put(claim, core_type("PersistentVolumeClaim"), "status", Json::object({{"phase", "Pending"}}));
  };
  return rules;
}

KindRules storage_class_rules() {
  return rules_for("storage.k8s.io", "storageclasses", set_class_defaults);
}

}  // namespace berth::api
