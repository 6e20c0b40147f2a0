// How much an allocation takes of what a node's pools are good for, worked out anew from the objects.
//
// Source: docs/devices.md, "Which of several", straight.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "dra/judge/judge.h"

namespace berth::dra::judge {

// Less is better, in this order.
struct Loss {
  std::int64_t with_binding_conditions = 0;
  std::int64_t lost = 0;  // in millionths of a whole
  std::int64_t fresh = 0;
  friend auto operator<=>(const Loss&, const Loss&) = default;
};

Loss loss_of(const JudgedWorld& world, std::span<const ClaimPtr> claims, const std::vector<Chosen>& chosen);

}  // namespace berth::dra::judge
