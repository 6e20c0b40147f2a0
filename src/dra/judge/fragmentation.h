// How much an allocation reduces the use of a node's pools, recomputed from the objects.
//
// Source: docs/devices.md, "Which of several", literally.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "dra/judge/judge.h"

namespace berth::dra::judge {

// Less is better, in the order of the fields.
struct Loss {
  std::int64_t with_binding_conditions = 0;
  std::int64_t lost = 0;  // in millionths of a whole
  std::int64_t fresh = 0;
  friend auto operator<=>(const Loss&, const Loss&) = default;
};

Loss loss_of(const JudgedWorld& world, std::span<const ClaimPtr> claims, const std::vector<Chosen>& chosen);

}  // namespace berth::dra::judge
