#include "store/object_hash.h"

#include <bit>
#include <cstring>

namespace berth::store {
namespace {

// Odd constants of the golden ratio and of splitmix64, for multiplications that lose nothing.
constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t kMix = 0xbf58476d1ce4e5b9u;
constexpr int kTurn = 29;

class ObjectHash {
 public:
  void add(std::uint64_t word) { state_ = std::rotl(state_ ^ (word * kSpread), kTurn) * kMix; }

  // With its length, so that no text can be taken for the beginning of its neighbour.
  void add(std::string_view text) {
    add(text.size());
    std::uint64_t word = 0;
    for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
      std::memcpy(&word, text.data(), sizeof word);
      add(word);
    }
    word = 0;
    std::memcpy(&word, text.data(), text.size());
    add(word);
  }

  std::uint64_t value() const { return (state_ ^ (state_ >> 31)) * kSpread; }

 private:
  std::uint64_t state_ = kSpread;
};

}  // namespace

std::uint64_t hash_of(const Object& object) {
  ObjectHash hash;
  hash.add(object.created);
  hash.add(object.revision);
  for (const std::string* text :
       {&object.key.resource, &object.key.ns, &object.key.name, &object.uid, &object.bytes})
    hash.add(std::string_view(*text));
  return hash.value();
}

}  // namespace berth::store
