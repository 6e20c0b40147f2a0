#include <map>

#include "api/kind_rules.h"
#include "api/kinds/core_parts.h"

namespace berth::api {
namespace {

constexpr KindRules kGeneric;

using Family = std::span<const KindRules> (*)();
constexpr Family kFamilies[] = {core_rules, resource_rules, scheduling_rules, workload_rules, stored_rules};

using RowName = std::pair<std::string_view, std::string_view>;

std::map<RowName, const KindRules*> rows_by_name() {
  std::map<RowName, const KindRules*> rows;
  for (Family family : kFamilies)
    for (const KindRules& rules : family()) rows.try_emplace({rules.group, rules.resource}, &rules);
  return rows;
}

// Kinds of before 2020 and those written like them; every other kind, a custom one too, resets metadata.
// Source: PrepareForUpdate of the status strategies of Kubernetes 1.37 (registry/*/strategy.go).
struct StatusMetadataRow {
  std::string_view group, resource;
  StatusMetadata taken = StatusMetadata::All;
};
constexpr StatusMetadataRow kStatusMetadata[] = {
    {"", "namespaces"},
    {"", "nodes"},
    {"", "persistentvolumeclaims"},
    {"", "persistentvolumes"},
    {"", "pods", StatusMetadata::AllButOwners},
    {"", "replicationcontrollers"},
    {"", "resourcequotas"},
    {"", "services"},
    {"apiextensions.k8s.io", "customresourcedefinitions"},
    {"apps", "daemonsets"},
    {"apps", "deployments", StatusMetadata::AllButLabels},
    {"apps", "replicasets"},
    {"apps", "statefulsets"},
    {"autoscaling", "horizontalpodautoscalers"},
    {"batch", "cronjobs"},
    {"batch", "jobs"},
    {"certificates.k8s.io", "certificatesigningrequests"},
    {"networking.k8s.io", "ingresses"},
    {"policy", "poddisruptionbudgets"},
};

}  // namespace

FieldErrors validate_change(const Json& next, const Json& old, const KindRules& rules,
                            const RuleContext& ctx) {
  FieldErrors errors = validate_meta_update(next, old, rules);
  if (rules.validate_update)
    append(errors, rules.validate_update(next, old, ctx));
  else if (rules.validate_create)
    append(errors, rules.validate_create(next, ctx));
  for (const std::string_view path : rules.immutable)
    append(errors, check_immutable(std::string(path), present_path(next, path), present_path(old, path)));
  return errors;
}

StatusMetadata status_metadata(std::string_view group, std::string_view resource) {
  for (const StatusMetadataRow& row : kStatusMetadata)
    if (row.group == group && row.resource == resource) return row.taken;
  return StatusMetadata::None;
}

const KindRules& rules_of(std::string_view group, std::string_view resource) {
  static const std::map<RowName, const KindRules*> kRows = rows_by_name();
  const auto found = kRows.find({group, resource});
  return found == kRows.end() ? kGeneric : *found->second;
}

}  // namespace berth::api
