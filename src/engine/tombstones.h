// UIDs of objects that are known to be gone, so that late news cannot bring them back.
//
// Keeps the latest kTombstonesMax, as 64-bit hashes: about 50 bytes each, so less than 1 MiB an engine. Two
// UIDs share a hash with a chance of 2^-50 in a full table; an API server draws them at random.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_set>

#include "base/stable_hash.h"

namespace berth::engine {

inline constexpr std::size_t kTombstonesMax = 16384;

class Tombstones {
 public:
  void add(std::string_view uid) {
    if (!hashes_.insert(stable_hash(uid)).second) return;
    order_.push_back(stable_hash(uid));
    if (order_.size() <= kTombstonesMax) return;
    hashes_.erase(order_.front());
    order_.pop_front();
  }
  bool has(std::string_view uid) const { return !hashes_.empty() && hashes_.count(stable_hash(uid)) > 0; }
  std::size_t size() const { return order_.size(); }

 private:
  std::unordered_set<std::uint64_t> hashes_;
  std::deque<std::uint64_t> order_;
};

}  // namespace berth::engine
