// Warnings about volumes, claims of them and their classes.
#include "api/kinds/core_parts.h"
#include "api/kinds/warning_parts.h"

namespace berth::api {
namespace {

struct ReplacedAnnotation {
  std::string_view key, message;
};
constexpr ReplacedAnnotation kVolumeAnnotations[] = {
    {"volume.beta.kubernetes.io/storage-class",
     R"(deprecated since v1.8; use "storageClassName" attribute instead)"},
    {"volume.beta.kubernetes.io/mount-options",
     R"(deprecated since v1.31; use "mountOptions" attribute instead)"},
};
constexpr ReplacedAnnotation kPersistentPlugins[] = {
    {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"storageos", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"rbd", "deprecated in v1.28, non-functional in v1.31+"},
};

void warn_of_annotation(Warnings& warnings, const Json& object, const ReplacedAnnotation& row) {
  if (object.part("metadata").part("annotations").find(row.key))
    warnings.push_back(FieldPath("metadata").child("annotations").key(row.key).text() + ": " +
                       std::string(row.message));
}

}  // namespace

Warnings persistent_volume_warnings(const Json& volume) {
  Warnings warnings;
  for (const ReplacedAnnotation& row : kVolumeAnnotations) warn_of_annotation(warnings, volume, row);
  const Json& spec = volume.part("spec");
  if (spec.string_at("persistentVolumeReclaimPolicy") == "Recycle")
    warnings.emplace_back(
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
        "recommended "
        "approach is to use dynamic provisioning.");
  const JsonArray& terms = spec.part("nodeAffinity").part("required").items_at("nodeSelectorTerms");
  const FieldPath at = FieldPath("spec").child("nodeAffinity").child("required").child("nodeSelectorTerms");
  for (std::size_t i = 0; i < terms.size(); ++i) warn_of_labels(warnings, at.index(i), terms[i]);
  for (const ReplacedAnnotation& row : kPersistentPlugins)
    if (present(spec, row.key))
      warnings.push_back("spec." + std::string(row.key == "storageos" ? "storageOS" : row.key) + ": " +
                         std::string(row.message));
  return warnings;
}

Warnings volume_claim_warnings(const Json& claim) {
  Warnings warnings;
  warn_of_annotation(warnings, claim, kVolumeAnnotations[0]);
  const FieldPath at = FieldPath("spec").child("resources");
  for (std::string_view list : {"requests", "limits"})
    warn_of_fraction(warnings, at.child(list), claim.part("spec").part("resources").part(list), "storage");
  return warnings;
}

Warnings storage_class_warnings(const Json& storage_class) {
  Warnings warnings;
  const JsonArray& topologies = items(&storage_class, "allowedTopologies");
  for (std::size_t i = 0; i < topologies.size(); ++i) {
    const JsonArray& expressions = items(&topologies[i], "matchLabelExpressions");
    for (std::size_t k = 0; k < expressions.size(); ++k)
      if (const std::string_view message = deprecated_label(expressions[k].string_at("key"));
          !message.empty())
        warnings.push_back(FieldPath("allowedTopologies")
                               .index(i)
                               .child("matchLabelExpressions")
                               .index(k)
                               .child("key")
                               .text() +
                           ": " + std::string(message));
  }
  return warnings;
}

}  // namespace berth::api
