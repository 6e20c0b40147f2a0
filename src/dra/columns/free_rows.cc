#include "dra/columns/free_rows.h"

#include <iterator>

namespace berth::dra {

std::uint32_t FreeRows::take(std::uint32_t count) {
  in_use_ += count;
  const auto fit = by_count_.lower_bound({count, 0});
  if (fit == by_count_.end()) {
    end_ += count;
    return end_ - count;
  }
  const auto [size, begin] = *fit;
  by_count_.erase(fit);
  gaps_.erase(begin);
  if (size > count) {
    gaps_.emplace(begin + count, size - count);
    by_count_.emplace(size - count, begin + count);
  }
  return begin;
}

void FreeRows::give(std::uint32_t begin, std::uint32_t count) {
  in_use_ -= count;
  auto after = gaps_.lower_bound(begin);
  if (after != gaps_.end() && after->first == begin + count) {
    count += after->second;
    by_count_.erase({after->second, after->first});
    after = gaps_.erase(after);
  }
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      count += before->second;
      by_count_.erase({before->second, before->first});
      gaps_.erase(before);
    }
  }
  gaps_.emplace(begin, count);
  by_count_.emplace(count, begin);
}

}  // namespace berth::dra
