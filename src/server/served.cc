#include "server/served.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "api/gates.h"
#include "crd/served_version.h"

namespace berth::server {
namespace {

// Resources behind a gate. Empty version: every version; empty resource: every resource of the group version.
struct GatedResource {
  std::string_view group, version, resource, gate;
};
constexpr std::array<GatedResource, 3> kGated = {{
    {"scheduling.k8s.io", "v1beta1", "", "GenericWorkload"},
    {"scheduling.k8s.io", "v1alpha3", "compositepodgroups", "CompositePodGroup"},
    {"scheduling.k8s.io", "v1alpha3", "", "GenericWorkload"},
}};

}  // namespace

bool is_served(const api::ResourceInfo& resource, const api::Gates& gates) {
  for (const GatedResource& row : kGated) {
    const bool meant = row.group == resource.group && row.version == resource.version &&
                       (row.resource.empty() || row.resource == resource.plural);
    if (meant && !gates.enabled(row.gate)) return false;
  }
  return true;
}

bool has_verb(const api::ResourceInfo& resource, std::string_view verb) {
  bool found = false;
  api::for_each_listed(resource.verbs, [&](std::string_view listed) { found |= listed == verb; });
  return found;
}

bool has_controller(const api::ResourceInfo& resource) {
  struct Unacted {
    std::string_view group;
    std::string_view resource;  // empty: every one of the group
  };
  static constexpr Unacted kUnacted[] = {
      {"autoscaling", ""},
      {"batch", "cronjobs"},
      {"networking.k8s.io", ""},
      {"discovery.k8s.io", ""},
      {"rbac.authorization.k8s.io", ""},
      {"admissionregistration.k8s.io", ""},
      {"certificates.k8s.io", ""},
      {"flowcontrol.apiserver.k8s.io", ""},
      {"storage.k8s.io", "csinodes"},
      {"storagemigration.k8s.io", ""},
      {"storage.k8s.io", "volumeattachments"},
      {"storage.k8s.io", "volumeattributesclasses"},
      {"coordination.k8s.io", "leasecandidates"},
      {"resource.k8s.io", "resourcepoolstatusrequests"},
      {"scheduling.k8s.io", "compositepodgroups"},
      {"", "services"},
      {"", "endpoints"},
      {"", "replicationcontrollers"},
      {"", "resourcequotas"},
      {"", "limitranges"},
  };
  for (const Unacted& row : kUnacted)
    if (row.group == resource.group && (row.resource.empty() || row.resource == resource.plural))
      return false;
  return true;
}

bool is_built_in(std::string_view group, std::string_view plural) {
  const std::span<const api::ResourceInfo> table = api::resources();
  return std::any_of(table.begin(), table.end(), [&](const api::ResourceInfo& row) {
    return row.group == group && row.plural == plural;
  });
}

ServedSet::ServedSet(const api::Gates& gates, ConversionWebhooks* webhooks,
                     std::vector<DefinitionPtr> definitions)
    : gates_(gates), webhooks_(webhooks), definitions_(std::move(definitions)) {
  for (const api::ResourceInfo& row : api::resources())
    if (is_served(row, gates)) rows_.push_back(&row);
  std::vector<const api::ResourceInfo*> custom;
  for (const DefinitionPtr& definition : definitions_) {
    fingerprint_ += definition->uid + "/" + std::to_string(definition->generation) + " ";
    for (const auto& version : definition->versions) custom.push_back(&version->row);
  }
  std::sort(custom.begin(), custom.end(), [](const api::ResourceInfo* a, const api::ResourceInfo* b) {
    if (a->group != b->group) return a->group < b->group;
    if (a->version != b->version) return crd::comes_before(a->version, b->version);
    return a->plural < b->plural;
  });
  rows_.insert(rows_.end(), custom.begin(), custom.end());
}

const api::ResourceInfo* ServedSet::find(std::string_view group, std::string_view version,
                                         std::string_view plural) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const api::ResourceInfo* row) {
    return row->plural == plural && row->group == group && row->version == version;
  });
  return found == rows_.end() ? nullptr : *found;
}

bool ServedSet::has_group(std::string_view group) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [group](const api::ResourceInfo* row) { return row->group == group; });
}

ServedResources::ServedResources(const api::Gates& gates, ConversionWebhooks& webhooks)
    : gates_(gates),
      webhooks_(webhooks),
      now_(std::make_shared<ServedSet>(gates, &webhooks, std::vector<DefinitionPtr>())) {}

ServedPtr ServedResources::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void ServedResources::set(std::vector<DefinitionPtr> definitions) {
  auto next = std::make_shared<const ServedSet>(gates_, &webhooks_, std::move(definitions));
  const std::lock_guard lock(mutex_);
  now_ = std::move(next);
}

}  // namespace berth::server
