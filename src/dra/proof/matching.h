// The needed devices that fit at once: an assignment of slots to places, kept complete while the search fixes
// slots one by one. A slot is one needed device; a place is a device that could serve.
//
// A relaxation: it knows who accepts what, the multiplicity of a place, and how many places of a bottleneck a
// shared counter can feed together; nothing else. When it cannot be completed, there is no solution, and the
// last attempt is Hall's proof: a set of slots that together accept too little. Owner: one search. Cost of
// repair: O(slots), and O(places) for each slot that must move.
#pragma once

#include <cstdint>
#include <vector>

#include "dra/proof/bits.h"

namespace berth::dra {

class Matching {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // `multiplicity`: by place, how many slots it can serve. `bottleneck_of`: by place; kNone, or an index
  // below `bottlenecks`.
  void reset(std::vector<std::uint32_t> multiplicity, std::vector<std::uint32_t> bottleneck_of,
             std::size_t bottlenecks);
  // Adds a slot that any place in `accepts` can serve; `accepts` outlives the slot and may change before
  // repair().
  std::uint32_t add_slot(const Bits* accepts);
  void set_bottleneck(std::uint32_t bottleneck, std::uint32_t capacity) {
    bottleneck_max_[bottleneck] = capacity;
  }

  // The search uses a place for a slot, or (kNone) in addition to all slots.
  void fix(std::uint32_t slot, std::uint32_t place);
  void unfix(std::uint32_t slot, std::uint32_t place);
  // True when every slot has a place; false sets blocked_slots() and blocked_places().
  bool repair();

  std::size_t fixed_in(std::uint32_t bottleneck) const { return bottleneck_fixed_[bottleneck]; }
  // After a false repair(): slots that only accept blocked_places(), and what those can serve together.
  const std::vector<std::uint32_t>& blocked_slots() const { return blocked_slots_; }
  const Bits& blocked_places() const { return visited_; }
  const std::vector<std::uint8_t>& blocked_bottlenecks() const { return bottleneck_visited_; }
  std::size_t blocked_capacity() const;

 private:
  void attach(std::uint32_t slot, std::uint32_t place);
  void detach(std::uint32_t slot);
  bool evict_one(std::uint32_t place);
  void evict_overload();
  bool augment(std::uint32_t slot);
  bool move_an_owner(std::uint32_t place);
  bool bottleneck_full(std::uint32_t place) const {
    const std::uint32_t bottleneck = bottleneck_of_[place];
    return bottleneck != kNone && bottleneck_load_[bottleneck] >= bottleneck_max_[bottleneck];
  }

  // By place. Owners are chained through next_.
  std::vector<std::uint32_t> multiplicity_, load_, first_owner_, bottleneck_of_;
  // By bottleneck.
  std::vector<std::uint32_t> bottleneck_max_, bottleneck_load_, bottleneck_fixed_;
  std::vector<std::vector<std::uint32_t>> members_;
  // By slot.
  std::vector<const Bits*> accepts_;
  std::vector<std::uint32_t> at_, next_;
  std::vector<std::uint8_t> fixed_;

  Bits visited_;
  std::vector<std::uint8_t> bottleneck_visited_;
  std::vector<std::uint32_t> blocked_slots_;
};

}  // namespace berth::dra
