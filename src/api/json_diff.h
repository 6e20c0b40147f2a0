// The difference of two documents as a JSON patch.
//
// Pure, any thread. Cost: linear in the documents; parts that they share (Json::shares_with) are skipped.
// Source: RFC 6902.
#pragma once

#include "base/json.h"

namespace berth::api {

// The operations that turn `before` into `after`: add and remove of members, and of elements at the end of a
// list. Any other change of a list's length replaces the list. Empty for equal documents.
JsonArray json_patch_between(const Json& before, const Json& after);

}  // namespace berth::api
