#include "server/served.h"

#include <array>

#include "api/gates.h"

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

}  // namespace berth::server
