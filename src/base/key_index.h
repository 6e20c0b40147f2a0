// Where texts stand in a list: an open-addressed hash table of positions, beside the list that owns the
// texts.
//
// find, add: O(1). erase: O(n), as in the list. Texts that are equal are found in the order in which they
// were added. A stranger cannot choose texts that collide: the hash has a key that each process draws anew,
// so no order and no answer may depend on it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace berth {

class KeyIndex {
 public:
  static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};

  // The lowest position added for a text equal to `text`. `text_at(position)` gives the list's text.
  template <class TextAt>
  std::uint32_t find(std::string_view text, const TextAt& text_at) const {
    if (slots_.empty()) return kAbsent;
    const std::uint32_t hash = hash_of(text);
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.position == kAbsent) return kAbsent;
      if (slot.hash == hash && text_at(slot.position) == text) return slot.position;
    }
  }

  // Nothing was ever added.
  bool empty() const { return slots_.empty(); }
  // `position`: how many there are already.
  void add(std::string_view text, std::uint32_t position);
  // Takes out `position`, which was added with `text`; higher ones move down by one.
  void erase(std::string_view text, std::uint32_t position);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t position = kAbsent;
  };

  static std::uint32_t hash_of(std::string_view text);
  std::size_t mask() const { return slots_.size() - 1; }
  void put(Slot slot);
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
};

}  // namespace berth
