// What the expressions of mutating policies make: a part of an object, or the operations of a JSON patch.
//
// Their values are Message (messages.h). Source: pkg/cel/mutation and pkg/cel/library/jsonpatch.go of
// k8s.io/apiserver 1.37.
#pragma once

#include <string_view>

#include "cel/environment.h"

namespace berth::cel {

// "Object", and "Object.spec.template" for what is there in it.
inline constexpr std::string_view kObjectType = "Object";
// An operation: op, path, from and value.
inline constexpr std::string_view kJsonPatchType = "JSONPatch";

// The literals of both, and jsonpatch.escapeKey().
void declare_patch_types(Environment& environment);

}  // namespace berth::cel
