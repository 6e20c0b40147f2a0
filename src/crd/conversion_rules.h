// What a definition may say of the conversion between its versions.
//
// Pure, any thread. Source: validation of apiextensions-apiserver 1.37. Certificates of a caBundle are looked
// at as far as their outermost length goes.
#pragma once

#include "api/field_error.h"
#include "base/json.h"

namespace berth::crd {

// `old`: the definition before an update; null for a create. What is wrong with a caBundle is said for an
// established definition alone, and not when it was so before.
api::FieldErrors check_conversion(const Json& conversion, const api::FieldPath& path, const Json& old);

}  // namespace berth::crd
