// Whether a finished allocation is valid: no search, no order of choice.
//
// Source: KEP-4381, 4815, 5075, 5963, straight from the objects.
#pragma once

#include <span>
#include <string>

#include "dra/judge/judge.h"

namespace berth::dra::judge {

// Empty when every rule holds for all claims together with the existing allocations; else the rule that is
// broken.
std::string complaint_about(const JudgedWorld& world, std::span<const ClaimPtr> claims,
                            const Allocations& allocations);

}  // namespace berth::dra::judge
