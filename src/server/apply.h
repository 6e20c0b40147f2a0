// Server-side apply: what a request must say before anything is merged. Nothing is merged yet.
#pragma once

#include <string_view>

#include "server/http.h"
#include "server/object_target.h"
#include "server/status.h"

namespace berth::server {

inline constexpr std::string_view kApplyNotServed =
    "server-side apply is not served yet: use kubectl apply without --server-side";

// Whether a PATCH is a server-side apply.
bool is_apply(const HttpRequest& request);

// Refuses an apply request that names no manager, no object or another one; in the words and in the order of
// the reference. Pure.
ApiResult<void> check_apply(const HttpRequest& request, const ObjectTarget& target);

}  // namespace berth::server
