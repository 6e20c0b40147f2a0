#include "dra/proof/matching.h"

#include <algorithm>

namespace berth::dra {

void Matching::reset(std::vector<std::uint32_t> multiplicity, std::vector<std::uint32_t> bottleneck_of,
                     std::size_t bottlenecks) {
  multiplicity_ = std::move(multiplicity);
  bottleneck_of_ = std::move(bottleneck_of);
  load_.assign(multiplicity_.size(), 0);
  first_owner_.assign(multiplicity_.size(), kNone);
  bottleneck_max_.assign(bottlenecks, kNone);
  bottleneck_load_.assign(bottlenecks, 0);
  bottleneck_fixed_.assign(bottlenecks, 0);
  members_.assign(bottlenecks, {});
  for (std::uint32_t place = 0; place < multiplicity_.size(); ++place)
    if (bottleneck_of_[place] != kNone) members_[bottleneck_of_[place]].push_back(place);
  accepts_.clear();
  at_.clear();
  next_.clear();
  fixed_.clear();
  visited_ = Bits(multiplicity_.size());
  bottleneck_visited_.assign(bottlenecks, 0);
}

std::uint32_t Matching::add_slot(const Bits* accepts) {
  accepts_.push_back(accepts);
  at_.push_back(kNone);
  next_.push_back(kNone);
  fixed_.push_back(0);
  return static_cast<std::uint32_t>(accepts_.size() - 1);
}

void Matching::attach(std::uint32_t slot, std::uint32_t place) {
  at_[slot] = place;
  next_[slot] = first_owner_[place];
  first_owner_[place] = slot;
  ++load_[place];
  if (bottleneck_of_[place] != kNone) ++bottleneck_load_[bottleneck_of_[place]];
}

void Matching::detach(std::uint32_t slot) {
  const std::uint32_t place = at_[slot];
  if (place == kNone) return;
  std::uint32_t* link = &first_owner_[place];
  while (*link != slot) link = &next_[*link];
  *link = next_[slot];
  at_[slot] = kNone;
  --load_[place];
  if (bottleneck_of_[place] != kNone) --bottleneck_load_[bottleneck_of_[place]];
}

bool Matching::evict_one(std::uint32_t place) {
  for (std::uint32_t owner = first_owner_[place]; owner != kNone; owner = next_[owner]) {
    if (fixed_[owner]) continue;
    detach(owner);
    return true;
  }
  return false;
}

void Matching::fix(std::uint32_t slot, std::uint32_t place) {
  if (bottleneck_of_[place] != kNone) ++bottleneck_fixed_[bottleneck_of_[place]];
  if (slot != kNone && at_[slot] == place) {
    fixed_[slot] = 1;
    return;
  }
  if (slot != kNone) detach(slot);
  if (load_[place] >= multiplicity_[place]) evict_one(place);
  if (slot != kNone) {
    attach(slot, place);
    fixed_[slot] = 1;
    return;
  }
  ++load_[place];
  if (bottleneck_of_[place] != kNone) ++bottleneck_load_[bottleneck_of_[place]];
}

void Matching::unfix(std::uint32_t slot, std::uint32_t place) {
  if (bottleneck_of_[place] != kNone) --bottleneck_fixed_[bottleneck_of_[place]];
  if (slot != kNone) {
    fixed_[slot] = 0;
    return;
  }
  --load_[place];
  if (bottleneck_of_[place] != kNone) --bottleneck_load_[bottleneck_of_[place]];
}

// A place with less capacity than before loses slots that are not fixed.
void Matching::evict_overload() {
  for (std::uint32_t bottleneck = 0; bottleneck < bottleneck_max_.size(); ++bottleneck)
    for (const std::uint32_t place : members_[bottleneck])
      while (bottleneck_load_[bottleneck] > bottleneck_max_[bottleneck] && evict_one(place)) continue;
}

bool Matching::repair() {
  evict_overload();
  for (std::uint32_t slot = 0; slot < accepts_.size(); ++slot) {
    if (fixed_[slot]) continue;
    if (at_[slot] != kNone && !accepts_[slot]->test(at_[slot])) detach(slot);
    if (at_[slot] != kNone) continue;
    visited_.clear();
    std::fill(bottleneck_visited_.begin(), bottleneck_visited_.end(), 0);
    if (augment(slot)) continue;
    blocked_slots_.assign(1, slot);
    for (std::size_t place = visited_.next(0); place < visited_.end(); place = visited_.next(place + 1))
      for (std::uint32_t owner = first_owner_[place]; owner != kNone; owner = next_[owner])
        blocked_slots_.push_back(owner);
    return false;
  }
  return true;
}

// Moves some owner of the place elsewhere, with as many further moves as necessary.
bool Matching::move_an_owner(std::uint32_t place) {
  for (std::uint32_t owner = first_owner_[place]; owner != kNone; owner = next_[owner])
    if (!fixed_[owner] && augment(owner)) return true;
  return false;
}

bool Matching::augment(std::uint32_t slot) {
  const Bits& accepts = *accepts_[slot];
  for (std::size_t at = accepts.next(0); at < accepts.end(); at = accepts.next(at + 1)) {
    const auto place = static_cast<std::uint32_t>(at);
    if (load_[place] >= multiplicity_[place] || bottleneck_full(place)) continue;
    detach(slot);
    attach(slot, place);
    return true;
  }
  for (std::size_t at = accepts.next(0); at < accepts.end(); at = accepts.next(at + 1)) {
    const auto place = static_cast<std::uint32_t>(at);
    if (visited_.test(place)) continue;
    visited_.set(place);
    bool open = false;
    if (load_[place] >= multiplicity_[place]) {
      open = move_an_owner(place);
    } else if (!bottleneck_visited_[bottleneck_of_[place]]) {
      const std::uint32_t bottleneck = bottleneck_of_[place];
      bottleneck_visited_[bottleneck] = 1;
      for (const std::uint32_t member : members_[bottleneck]) {
        visited_.set(member);
        if (move_an_owner(member)) {
          open = true;
          break;
        }
      }
    }
    if (!open) continue;
    detach(slot);
    attach(slot, place);
    return true;
  }
  return false;
}

std::size_t Matching::blocked_capacity() const {
  std::size_t sum = 0;
  for (std::size_t i = visited_.next(0); i < visited_.end(); i = visited_.next(i + 1)) {
    const std::uint32_t bottleneck = bottleneck_of_[i];
    if (bottleneck == kNone || !bottleneck_visited_[bottleneck]) sum += multiplicity_[i];
  }
  for (std::size_t bottleneck = 0; bottleneck < bottleneck_visited_.size(); ++bottleneck)
    if (bottleneck_visited_[bottleneck]) sum += bottleneck_max_[bottleneck];
  return sum;
}

}  // namespace berth::dra
