// What a server-side apply must say before anything is merged.
#pragma once

#include "server/http.h"
#include "server/registry.h"

namespace berth::server {

// Refuses an apply request that names no manager, no object or another one; in the words and in the order of
// the reference. Pure.
ApiResult<void> check_apply(const HttpRequest& request, const ObjectTarget& target);

}  // namespace berth::server
