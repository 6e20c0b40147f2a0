// Server-side apply as a change of the registry: reads the configuration, merges it, and names conflicts.
//
// Pure. It refuses in the words and in the order of the reference.
#pragma once

#include <vector>

#include "server/http.h"
#include "server/object_target.h"
#include "server/registry.h"
#include "server/status.h"
#include "server/write_options.h"

namespace berth::server {

// Whether a PATCH is a server-side apply.
bool is_apply(const HttpRequest& request);

// Refuses a request without a manager, without an object or with one of another kind. `warnings` gets
// repeated keys, and outlives the change. The document that the change gives has its managedFields.
ApiResult<Registry::Change> apply_change(const HttpRequest& request, const ObjectTarget& target,
                                         const WriteOptions& options, FieldValidation validation, Time now,
                                         std::vector<std::string>& warnings);

}  // namespace berth::server
