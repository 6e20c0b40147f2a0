// A PATCH body as a change of the stored object.
#pragma once

#include <string>
#include <vector>

#include "api/type_table.h"
#include "server/http.h"
#include "server/registry.h"
#include "server/write_options.h"

namespace berth::server {

// Applies the body to the object in the version of `resource`. 415 for a media type that is no patch.
// `warnings`, which outlives the change, gets the strict errors of the latest call. Not for is_apply().
Registry::Change patch_change(const HttpRequest& request, const api::ResourceInfo& resource,
                              FieldValidation validation, std::vector<std::string>& warnings);

}  // namespace berth::server
