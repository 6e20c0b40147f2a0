// Server-side apply: what a request must say before anything is merged. Nothing is merged yet.
#pragma once

#include "server/http.h"
#include "server/object_target.h"

namespace berth::server {

// Whether a PATCH is a server-side apply.
bool is_apply(const HttpRequest& request);

// Refuses an apply request that names no manager, no object or another one; in the words and in the order of
// the reference. Pure.
ApiResult<void> check_apply(const HttpRequest& request, const ObjectTarget& target);

}  // namespace berth::server
