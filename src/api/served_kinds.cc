#include "api/served_kinds.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "api/custom_version.h"
#include "api/gates.h"
#include "base/ascii.h"
#include "base/assert.h"

namespace berth::api {
namespace {

// Resources behind a gate. Empty version: every version; empty resource: every resource of the group version.
struct GatedResource {
  std::string_view group, version, resource, gate;
};
constexpr std::array<GatedResource, 4> kGated = {{
    {"scheduling.k8s.io", "v1beta1", "", "GenericWorkload"},
    {"scheduling.k8s.io", "v1alpha3", "compositepodgroups", "CompositePodGroup"},
    {"scheduling.k8s.io", "v1alpha3", "", "GenericWorkload"},
    {"scheduling.k8s.io", "v1alpha2", "", "BerthWorkloadV1Alpha2"},
}};

// For each row of the table the row of its stored version: the first of its group and plural.
std::vector<const ResourceInfo*> storage_rows() {
  const std::span<const ResourceInfo> rows = resources();
  std::map<std::pair<std::string_view, std::string_view>, const ResourceInfo*> first;
  for (const ResourceInfo& row : rows) first.try_emplace({row.group, row.plural}, &row);
  std::vector<const ResourceInfo*> stored;
  for (const ResourceInfo& row : rows) {
    const std::string_view group = row.group == "events.k8s.io" ? std::string_view() : row.group;
    stored.push_back(first.at({group, row.plural}));
  }
  return stored;
}

}  // namespace

bool is_served(const ResourceInfo& resource, const Gates& gates) {
  for (const GatedResource& row : kGated) {
    const bool meant = row.group == resource.group && row.version == resource.version &&
                       (row.resource.empty() || row.resource == resource.plural);
    if (meant && !gates.enabled(row.gate)) return false;
  }
  return true;
}

bool has_verb(const ResourceInfo& resource, std::string_view verb) {
  bool found = false;
  for_each_listed(resource.verbs, [&](std::string_view listed) { found |= listed == verb; });
  return found;
}

bool has_controller(const ResourceInfo& resource) {
  struct Unacted {
    std::string_view group;
    std::string_view resource;  // empty: every one of the group
  };
  static constexpr Unacted kUnacted[] = {
      {"networking.k8s.io", ""},
      {"discovery.k8s.io", ""},
      {"certificates.k8s.io", "clustertrustbundles"},
      {"certificates.k8s.io", "podcertificaterequests"},
      {"storage.k8s.io", "csinodes"},
      {"storagemigration.k8s.io", ""},
      {"storage.k8s.io", "volumeattachments"},
      {"storage.k8s.io", "volumeattributesclasses"},
      {"coordination.k8s.io", "leasecandidates"},
      {"scheduling.k8s.io", "compositepodgroups"},
  };
  for (const Unacted& row : kUnacted)
    if (row.group == resource.group && (row.resource.empty() || row.resource == resource.plural))
      return false;
  return true;
}

bool is_built_in(std::string_view group, std::string_view plural) {
  const std::span<const ResourceInfo> table = resources();
  return std::any_of(table.begin(), table.end(),
                     [&](const ResourceInfo& row) { return row.group == group && row.plural == plural; });
}

const ResourceInfo& storage_of(const ResourceInfo& resource) {
  if (resource.custom) return resource.custom->storage_row();
  static const std::vector<const ResourceInfo*> kStored = storage_rows();
  const std::ptrdiff_t row = &resource - resources().data();
  BERTH_ASSERT(row >= 0 && static_cast<std::size_t>(row) < kStored.size(), "resources are rows of the table");
  return *kStored[static_cast<std::size_t>(row)];
}

std::string storage_resource(const ResourceInfo& resource) {
  const ResourceInfo& stored = storage_of(resource);
  std::string name(stored.plural);
  if (!stored.group.empty()) name.append(".").append(stored.group);
  return name;
}

bool is_kind_word(const ResourceInfo& resource, std::string_view word) {
  bool is = word == resource.plural || word == resource.singular || word == to_lower(resource.kind) ||
            word == std::string(resource.plural) + "." + std::string(resource.group);
  for_each_listed(resource.short_names, [&](std::string_view name) { is |= word == name; });
  return is;
}

std::string api_version_of(const ResourceInfo& resource) {
  std::string version(resource.group);
  if (!version.empty()) version += '/';
  return version.append(resource.version);
}

std::string list_kind_of(const ResourceInfo& resource) {
  return resource.custom ? std::string(resource.custom->list_kind()) : std::string(resource.kind) + "List";
}

}  // namespace berth::api
