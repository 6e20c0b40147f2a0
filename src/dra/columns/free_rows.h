// Rows of the columns that no slice uses; adjacent runs are merged.
//
// Owner: DeviceColumns. Cost: O(log of the number of gaps).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace berth::dra {

class FreeRows {
 public:
  // Allocates a run of `count` rows and returns its first: in the smallest gap that is large enough, else at
  // the end.
  std::uint32_t take(std::uint32_t count);
  void give(std::uint32_t begin, std::uint32_t count);
  // One past the highest row ever in use.
  std::uint32_t end() const { return end_; }
  std::uint32_t in_use() const { return in_use_; }

 private:
  std::map<std::uint32_t, std::uint32_t> gaps_;                 // begin, count
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_count_;  // count, begin
  std::uint32_t end_ = 0, in_use_ = 0;
};

}  // namespace berth::dra
