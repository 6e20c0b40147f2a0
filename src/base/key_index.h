// Positions of texts in a list: an open-addressed hash table next to the list that owns the texts.
//
// find, add: O(1), however often a text is repeated: only its first position is kept. erase: O(n), as in the
// list.
// An attacker cannot choose texts that collide: each process draws a new key for the hash, so no order and no
// result may depend on it.
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

  // Keyed for this process: of no use in anything that is stored or decided.
  static std::uint32_t hash_of(std::string_view text);

  // True until the first add().
  bool empty() const { return slots_.empty(); }
  // Makes room for `count` positions; only while it is empty.
  void reserve(std::size_t count);
  // The position of the first text equal to `text`: `position`, which is above all others, if there was none.
  template <class TextAt>
  std::uint32_t add(std::string_view text, std::uint32_t position, const TextAt& text_at) {
    while ((std::size_t{position} + 1) * 2 > slots_.size()) grow();
    const std::uint32_t hash = hash_of(text);
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      Slot& slot = slots_[at];
      if (slot.position == kAbsent) slot = {hash, position};
      if (slot.hash == hash && (slot.position == position || text_at(slot.position) == text))
        return slot.position;
    }
  }
  // Removes `position`, the first of `text`; higher positions move down by one.
  void erase(std::string_view text, std::uint32_t position);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t position = kAbsent;
  };

  std::size_t mask() const { return slots_.size() - 1; }
  void put(Slot slot);
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
};

}  // namespace berth
