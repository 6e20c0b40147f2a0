// What a mutating policy makes of an object: configurations to merge in, and JSON patches.
//
// Pure, any thread. Bounds: kMadeJsonBytesMax, kTypeProblemsBytesMax; CEL's cost as `cost_left` says. Source:
// KEP-3962; policy/mutating/patch of k8s.io/apiserver 1.37.
#pragma once

#include <cstdint>

#include "admission/policy.h"
#include "base/result.h"

namespace berth::admission {

// An error names no further literal with a wrong type once it has this many bytes.
inline constexpr std::size_t kTypeProblemsBytesMax = 4096;

// The configuration, or the list of operations of the JSON patch, that one mutation of the policy makes. An
// error has the reference's text, as far as the reference can have it.
Result<Json> patch_made_by(const Policy& policy, const Mutation& mutation, const ExpressionInputs& inputs,
                           std::uint64_t& cost_left);

}  // namespace berth::admission
