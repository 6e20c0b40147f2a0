// LIST: one page of the objects of a resource, at the requested version.
#pragma once

#include "server/list_options.h"
#include "server/registry.h"
#include "server/rendering.h"

namespace berth::server {

// 410 when the version has left the store's window, 504 when it is not reached yet. Any thread.
ApiResult<HttpResponse> list(const Registry& registry, const ObjectTarget& target, const ListOptions& options,
                             Rendering rendering);

}  // namespace berth::server
