// Verifies the certificate of a "no" from the objects alone.
#pragma once

#include <span>
#include <string>

#include "dra/certificate.h"
#include "dra/judge/judge.h"

namespace berth::dra::judge {

// Empty when the claims cannot be satisfied and the certificate's numbers are right; else what is wrong.
std::string complaint_about(const JudgedWorld& world, std::span<const ClaimPtr> claims,
                            const Certificate& certificate);

}  // namespace berth::dra::judge
