// Server-side apply: validation of a request before the merge. Nothing is merged yet.
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

// Refuses an apply request without a manager, without an object or with another object; in the words and in
// the order of the reference. Pure.
ApiResult<void> check_apply(const HttpRequest& request, const ObjectTarget& target);

}  // namespace berth::server
