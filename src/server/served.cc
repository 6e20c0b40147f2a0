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

bool has_controller(const api::ResourceInfo& resource) {
  struct Unacted {
    std::string_view group;
    std::string_view resource;  // empty: every one of the group
  };
  static constexpr Unacted kUnacted[] = {
      {"apps", ""},
      {"autoscaling", ""},
      {"batch", ""},
      {"networking.k8s.io", ""},
      {"discovery.k8s.io", ""},
      {"rbac.authorization.k8s.io", ""},
      {"admissionregistration.k8s.io", ""},
      {"apiregistration.k8s.io", ""},
      {"apiextensions.k8s.io", ""},
      {"certificates.k8s.io", ""},
      {"flowcontrol.apiserver.k8s.io", ""},
      {"storage.k8s.io", "csinodes"},
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

}  // namespace berth::server
