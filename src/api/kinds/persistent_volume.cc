// Rules of core/v1 PersistentVolume: defaults, the phase of new volumes, and the spec.
//
// Of a source, the members that every volume of its type has are required; what only drivers inside of
// Kubernetes read is not validated. Source: pkg/apis/core/validation of Kubernetes 1.37; the order of the
// errors is that of the source.
#include <algorithm>
#include <array>
#include <utility>

#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/resource_parts.h"
#include "api/kinds/warning_parts.h"
#include "api/types/volumes.h"
#include "base/ascii.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

const TypeInfo& spec_type() {
  return core_type("PersistentVolumeSpec");
}

void set_defaults(Json& volume) {
  Json* spec = present(volume, "spec");
  if (!spec) return;
  put_default(*spec, spec_type(), "persistentVolumeReclaimPolicy", "Retain");
  put_default(*spec, spec_type(), "volumeMode", "Filesystem");
}

struct SourceRow {
  std::string_view member;
  std::array<std::string_view, 3> needs = {};
  std::string_view shown = {};  // in paths, where that is another name
};
constexpr SourceRow kSources[] = {
    {"gcePersistentDisk", {"pdName"}, "persistentDisk"},
    {"awsElasticBlockStore", {"volumeID"}},
    {"hostPath", {"path"}},
    {"glusterfs", {"endpoints", "path"}},
    {"flocker"},
    {"nfs", {"server", "path"}},
    {"rbd", {"monitors", "image"}},
    {"quobyte", {"registry", "volume"}},
    {"cephfs", {"monitors"}},
    {"iscsi", {"targetPortal", "iqn"}},
    {"cinder", {"volumeID"}},
    {"fc"},
    {"flexVolume", {"driver"}},
    {"azureFile", {"secretName", "shareName"}},
    {"vsphereVolume", {"volumePath"}},
    {"photonPersistentDisk", {"pdID"}},
    {"portworxVolume", {"volumeID"}},
    {"azureDisk", {"diskName", "diskURI"}},
    {"scaleIO", {"gateway", "system", "volumeName"}},
    {"local", {"path"}},
    {"storageos", {"volumeName"}},
    {"csi", {"driver", "volumeHandle"}},
};
// nodeStageSecretRef is not checked there.
constexpr std::string_view kSecretsOfDrivers[] = {"controllerPublishSecretRef", "nodePublishSecretRef",
                                                  "controllerExpandSecretRef", "nodeExpandSecretRef"};

bool steps_back(std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (path.substr(0, slash) == "..") return true;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return false;
}

FieldErrors check_path_of(const FieldPath& at, std::string_view member, std::string_view path) {
  FieldErrors errors;
  if (member == "nfs" && !path.starts_with('/'))
    errors.push_back(invalid(at, path, "must be an absolute path"));
  if (member != "nfs" && steps_back(path)) errors.push_back(invalid(at, path, "must not contain '..'"));
  return errors;
}

FieldErrors check_source(const FieldPath& at, const SourceRow& row, const Json& source) {
  FieldErrors errors;
  for (const std::string_view need : row.needs)
    if (!need.empty() && source.string_at(need).empty() && items(&source, need).empty())
      errors.push_back(required(at.child(need)));
  if (row.member == "nfs" || row.member == "local" || row.member == "hostPath")
    append(errors, check_path_of(at.child("path"), row.member, source.string_at("path")));
  if (row.member != "csi") return errors;
  if (const std::string_view driver = source.string_at("driver"); !driver.empty())
    append(errors, check_csi_driver(at.child("driver"), driver));
  for (const std::string_view secret : kSecretsOfDrivers)
    if (const Json* reference = present(source, secret))
      for (const std::string_view part : {"name", "namespace"})
        if (reference->string_at(part).empty()) errors.push_back(required(at.child(secret).child(part)));
  return errors;
}

// Exactly one source.
FieldErrors check_sources(const FieldPath& path, const Json& spec) {
  FieldErrors errors;
  bool found = false;
  for (const SourceRow& row : kSources) {
    const Json* source = present(spec, row.member);
    if (!source) continue;
    const FieldPath at = path.child(row.shown.empty() ? row.member : row.shown);
    if (std::exchange(found, true))
      errors.push_back(forbidden(at, "may not specify more than 1 volume type"));
    else
      append(errors, check_source(at, row, *source));
  }
  if (!found) errors.push_back(required(path, "must specify a volume type"));
  return errors;
}

FieldErrors check_capacity(const FieldPath& path, const Json* capacity) {
  FieldErrors errors;
  const JsonObject& amounts = entries(capacity);
  const Json* storage = present(capacity, "storage");
  if (!storage) errors.push_back(required(path));
  if (!storage || amounts.size() > 1)
    errors.push_back(not_supported(path, value_or_null(capacity), {"storage"}));
  if (!storage) return errors;
  const Result<Quantity> amount = parse_quantity(storage->as_string());
  if (amount && (amount->is_negative() || amount->is_zero()))
    errors.push_back(invalid(path.key("storage"), *storage, "must be greater than zero"));
  return errors;
}

FieldErrors check_node_affinity(const FieldPath& path, const Json& affinity) {
  const Json* needed = present(affinity, "required");
  if (!needed) return {required(path.child("required"), "must specify required node constraints")};
  return check_node_selector(path.child("required"), *needed);
}

FieldErrors validate(const Json& volume, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = volume.part("spec");
  FieldErrors errors;
  if (items(&spec, "accessModes").empty()) errors.push_back(required(path.child("accessModes")));
  append(errors, check_access_modes(path.child("accessModes"), &spec));
  append(errors, check_capacity(path.child("capacity"), present(spec, "capacity")));
  if (const std::string_view policy = spec.string_at("persistentVolumeReclaimPolicy"); !policy.empty())
    append(errors, check_one_of(path.child("persistentVolumeReclaimPolicy"), policy,
                                {"Delete", "Recycle", "Retain"}));
  const Json* affinity = present(spec, "nodeAffinity");
  if (affinity) append(errors, check_node_affinity(path.child("nodeAffinity"), *affinity));
  append(errors, check_sources(path, spec));
  if (!affinity && present(spec, "local"))
    errors.push_back(required("metadata.annotations", "Local volume requires node affinity"));
  for (const std::string_view name : {"storageClassName", "volumeAttributesClassName"})
    if (const std::string_view text = spec.string_at(name); !text.empty())
      append(errors, check_format(path.child(name), text, dns_subdomain_problems));
  if (const Json* mode = present(spec, "volumeMode"))
    append(errors, check_one_of(path.child("volumeMode"), mode->as_string(), {"Block", "Filesystem"}));
  return errors;
}

FieldErrors validate_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = validate(next, ctx);
  const Json &spec = next.part("spec"), &stored = old.part("spec");
  for (const SourceRow& row : kSources)
    if (!same(present(spec, row.member), present(stored, row.member))) {
      errors.push_back(forbidden(FieldPath("spec").child("persistentvolumesource"),
                                 "spec.persistentvolumesource is immutable after creation"));
      break;
    }
  append(errors, check_immutable("volumeMode", present(spec, "volumeMode"), present(stored, "volumeMode")));
  const Json *affinity = present(spec, "nodeAffinity"), *before = present(stored, "nodeAffinity");
  if (before && !same(affinity, before))
    errors.push_back(invalid("nodeAffinity",
                             affinity ? go_form(*affinity, core_type("VolumeNodeAffinity")) : Json(),
                             "field is immutable, except for updating from beta label to GA"));
  return errors;
}

}  // namespace

KindRules persistent_volume_rules() {
  KindRules rules;
  rules.group = "";
  rules.resource = "persistentvolumes";
  rules.answers_deleted_object = true;
  rules.set_defaults = set_defaults;
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
  rules.validate_create = validate;
  rules.validate_update = validate_update;
  return rules;
}

}  // namespace berth::api
