// Which domains take how many members of a group: a choice by counts alone.
//
// The best plan has the fewest domains; (Balanced) then the smallest difference between its largest and
// smallest part; then the least waste, the room that stays free in its domains. Equal plans are ordered by
// the fewest domains of each further level, then by path. Domains where members have a place are used in any
// case. Owner: one decision, pure. Cost: a table of kPartsTableMax cells at most; of more domains, or larger
// rooms, the least waste is sought by exchanging one domain after the other.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/wishes/wish.h"

namespace berth::placement {

// Cells of 8 bytes.
inline constexpr std::size_t kPartsTableMax = std::size_t{1} << 20;
// Sets of domains that are compared by their further levels, among those with the least waste.
inline constexpr std::size_t kPartsTiesMax = 4'096;

struct PartDomain {
  std::int64_t room = 0;                    // members that it still takes
  std::int64_t placed = 0;                  // members that have a place there
  std::vector<std::uint32_t> parents = {};  // its domains of the further levels
};

struct PartsQuestion {
  std::span<const PartDomain> domains;    // by path
  std::int64_t count = 0;                 // members to place
  std::int64_t min = WishSegments().min;  // members of a domain that is used
  std::int64_t max = WishSegments().max;
  WishDistribution distribution = WishDistribution::Packed;
};

struct PartsWorth {
  std::int64_t domains = 0;
  std::int64_t difference = 0;  // of Balanced
  std::int64_t waste = 0;
  std::vector<std::int64_t> parents = {};  // domains of each further level
  friend auto operator<=>(const PartsWorth&, const PartsWorth&) = default;
};

struct Parts {
  std::vector<std::int64_t> counts;  // members to place, by domain
  PartsWorth worth;
};

// None: the domains do not take so many members in parts of these sizes.
std::optional<Parts> choose_parts(const PartsQuestion& question);
// Whether a number of members can be cut into parts of these sizes at all.
bool can_be_cut(std::int64_t count, std::int64_t min, std::int64_t max);

}  // namespace berth::placement
