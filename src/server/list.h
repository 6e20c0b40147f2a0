// LIST: one page of the objects of a resource, at the requested version.
#pragma once

#include "server/list_options.h"
#include "server/registry.h"
#include "server/rendering.h"

namespace berth::server {

// One page of what the query selects, in the version of the target. On the lane of a target with a webhook.
ApiResult<store::ListPage> page_of(const Registry& registry, const ObjectTarget& target,
                                   const store::ListQuery& query);

// 410 when the version has left the store's window, 504 when it is not reached yet. Any thread.
ApiResult<HttpResponse> list(const Registry& registry, const ObjectTarget& target, const ListOptions& options,
                             Rendering rendering);

}  // namespace berth::server
