// Admission's check of the CEL expressions of classes and claims: an api::CelCheck that uses the allocator's
// compiler.
#pragma once

#include "api/cel_check.h"

namespace berth::dra {

// Any thread. Cost: one compilation.
api::CelVerdict check_cel(std::string_view expression, api::CelUse use, const api::Gates& gates);

}  // namespace berth::dra
