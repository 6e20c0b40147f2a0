// EndpointSlices of one owner: which are created, changed and deleted until they say what is wanted.
//
// Pure functions; the caller's thread. Cost: a parse of each slice that the owner has.
// Source: k8s.io/endpointslice 1.37, reconciler.go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/controllers.h"
#include "workloads/objects.h"

namespace berth::controllers {

inline constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";
inline constexpr std::string_view kSliceManagedByLabel = "endpointslice.kubernetes.io/managed-by";

const api::ResourceRef& endpoints_resource();
const api::ResourceRef& endpoint_slices();

// Endpoints with the same ports, in discovery.k8s.io/v1's form.
struct EndpointGroup {
  std::string address_type;  // "IPv4", "IPv6"
  JsonArray ports;
  JsonArray endpoints;  // each with other addresses or another targetRef
};

struct WantedSlices {
  api::OwnerReference owner;
  std::string ns;
  api::StringMap labels, annotations;  // of every slice
  std::vector<EndpointGroup> groups;
  // An empty slice is kept for each of these that has no endpoint.
  std::vector<std::string> placeholder_types;
  std::size_t endpoints_per_slice_max = 100;
};

// Labels of a Service's endpoints: its own, and one that says whether it is headless.
api::StringMap labels_from(const workloads::Parsed& service);

// Appends the writes. An endpoint stays in its slice; new ones fill slices that change anyhow, then the
// others. Names are derived from the owner, so that a create whose answer was lost makes no second slice.
void write_slices(const View& view, const WantedSlices& wanted, Effects& effects);

// A change of such a slice wakes its owner's key.
client::Interest slice_wakes(const api::ResourceRef& owners, std::string_view owner_kind);

}  // namespace berth::controllers
