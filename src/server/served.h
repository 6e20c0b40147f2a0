// The API versions and resources that this server serves, by feature gates.
#pragma once

#include "api/type_table.h"

namespace berth::api {
class Gates;
}

namespace berth::server {

// Source: the feature gates of Kubernetes 1.37.
bool is_served(const api::ResourceInfo& resource, const api::Gates& gates);

// False for kinds that are stored although no controller of the embedded control plane handles them.
bool has_controller(const api::ResourceInfo& resource);

}  // namespace berth::server
