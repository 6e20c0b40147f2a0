// How much memory a BindRequest takes.
#pragma once

#include <cstddef>

#include "api/types/bind_request.h"

namespace berth::binding {

// Of the struct and all its texts. An estimate: nodes of maps count as kMapNodeBytes, and contents that
// copies share count in full. Cost: O(devices); of an opaque configuration O(its values).
std::size_t bytes_of(const api::BindRequest& request);

inline constexpr std::size_t kMapNodeBytes = 48;  // besides key and value

}  // namespace berth::binding
