// Documents of a write in the version that a webhook or a policy sees, and back.
//
// `seen` is the row of the request or another version of the same objects. Any thread that may convert the
// target's objects (object_versions.h). Cost: a conversion.
#pragma once

#include <cstdint>

#include "api/type_table.h"
#include "server/object_target.h"

namespace berth::server {

// A document of a write, as a client of `seen` would read it; null stays null.
ApiResult<Json> seen_document(const ObjectTarget& target, const api::ResourceInfo& seen,
                              const Json& document);

// Members that a patch adds and the kind does not have. A custom object loses them in any case.
enum class UnknownMembers : std::uint8_t { Dropped, Refused };

// What a webhook or a policy made of `before`, which seen_document() returned: a document of the write, with
// the defaults of its kind. Refuses (500) what is no object of the kind.
ApiResult<Json> written_document(const ObjectTarget& target, const api::ResourceInfo& seen, Json patched,
                                 const Json& before, UnknownMembers unknown);
// The same for the body of a subresource, which has one version.
ApiResult<Json> written_body(const api::TypeInfo& type, Json patched, const Json& before,
                             UnknownMembers unknown);

}  // namespace berth::server
