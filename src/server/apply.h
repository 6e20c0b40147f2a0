// What a server-side apply must say before anything is merged.
#pragma once

#include <optional>

#include "server/http.h"
#include "server/registry.h"

namespace berth::server {

// The refusal of an apply request that names no manager, no object or another one; in the words and in the
// order of the reference. Pure.
std::optional<ApiStatus> refuses_apply(const HttpRequest& request, const ObjectTarget& target);

}  // namespace berth::server
