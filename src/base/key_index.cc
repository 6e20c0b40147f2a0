#include "base/key_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"
#include "base/random.h"

namespace berth {
namespace {

constexpr std::size_t kSlotsMin = 128;

std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t drawn_key() {
  return SystemRandom().next() | 1;
}

}  // namespace

std::uint32_t KeyIndex::hash_of(std::string_view text) {
  static const std::uint64_t key = drawn_key(), second_key = drawn_key();
  std::uint64_t hash = folded_product(text.size() ^ key, second_key);
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), count);
    hash = folded_product(hash ^ word ^ key, second_key ^ (hash << 1));
    text.remove_prefix(count);
  }
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

void KeyIndex::put(Slot slot) {
  std::size_t at = slot.hash & mask();
  while (slots_[at].position != kAbsent) at = (at + 1) & mask();
  slots_[at] = slot;
}

void KeyIndex::grow() {
  std::vector<Slot> old(std::max(slots_.size() * 2, kSlotsMin));
  old.swap(slots_);
  // In the order of positions, of which each is taken at most once.
  std::vector<Slot> taken(old.size());
  for (const Slot& slot : old)
    if (slot.position != kAbsent) taken[slot.position] = slot;
  for (const Slot& slot : taken)
    if (slot.position != kAbsent) put(slot);
}

void KeyIndex::reserve(std::size_t count) {
  BERTH_ASSERT(empty(), "room is made before the first text");
  slots_.resize(std::max(std::bit_ceil(count * 2), kSlotsMin));
}

void KeyIndex::erase(std::string_view text, std::uint32_t position) {
  std::size_t hole = hash_of(text) & mask();
  while (slots_[hole].position != position) {
    BERTH_ASSERT(slots_[hole].position != kAbsent, "only what was added is taken out");
    hole = (hole + 1) & mask();
  }
  slots_[hole] = {};
  // Later slots of the run move up as long as their own probe sequence passes the hole.
  for (std::size_t at = (hole + 1) & mask(); slots_[at].position != kAbsent; at = (at + 1) & mask()) {
    const std::size_t wanted = slots_[at].hash & mask();
    if (((at - wanted) & mask()) < ((at - hole) & mask())) continue;
    slots_[hole] = slots_[at];
    slots_[at] = {};
    hole = at;
  }
  for (Slot& slot : slots_)
    if (slot.position != kAbsent && slot.position > position) --slot.position;
}

}  // namespace berth
