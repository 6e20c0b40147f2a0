// LIST: which objects of a resource a request selects, and at which version.
#pragma once

#include "server/list_options.h"
#include "server/registry.h"

namespace berth::server {

// 400 for selectors or a continue token that do not parse, 504 for a version that is not reached yet.
// Any thread.
ApiResult<store::ListQuery> list_query(const Registry& registry, const ObjectTarget& target,
                                       const ListOptions& options);

// Why the store does not show the query's version: 410 when it has left the store's window. After a page the
// client may continue with the newest one.
ApiStatus not_listed(const Error& error, const store::ListQuery& query, store::Revision newest);

// The metadata of a list whose objects are those of `page`, as JSON.
std::string list_metadata(const store::ListPage& page, const ListOptions& options);

}  // namespace berth::server
