#include "workloads/index_ranges.h"

#include <algorithm>

#include "api/types/meta.h"

namespace berth::workloads {

IndexRanges IndexRanges::parse(std::string_view text, std::int64_t end) {
  IndexRanges ranges;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t dash = item.find('-');
    const auto first = api::to_int(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : api::to_int(item.substr(dash + 1));
    if (!first || !last || *first < 0 || *first > *last || *first >= end) continue;
    if (!ranges.ranges_.empty() && ranges.ranges_.back().last >= *first) continue;
    const std::int64_t kept = std::min(*last, end - 1);
    if (!ranges.ranges_.empty() && ranges.ranges_.back().last + 1 == *first)
      ranges.ranges_.back().last = kept;
    else
      ranges.ranges_.push_back({*first, kept});
  }
  return ranges;
}

void IndexRanges::add(std::int64_t index) {
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), index,
                                   [](const Range& range, std::int64_t i) { return range.last + 1 < i; });
  if (at == ranges_.end() || index + 1 < at->first) {
    ranges_.insert(at, {index, index});
    return;
  }
  at->first = std::min(at->first, index);
  at->last = std::max(at->last, index);
  const auto next = at + 1;
  if (next == ranges_.end() || next->first > at->last + 1) return;
  at->last = next->last;
  ranges_.erase(next);
}

bool IndexRanges::has(std::int64_t index) const {
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), index,
                                   [](const Range& range, std::int64_t i) { return range.last < i; });
  return at != ranges_.end() && at->first <= index;
}

std::int64_t IndexRanges::count() const {
  std::int64_t count = 0;
  for (const Range& range : ranges_) count += range.last - range.first + 1;
  return count;
}

std::string IndexRanges::text() const {
  std::string text;
  for (const Range& range : ranges_) {
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    // Two neighbours are listed, not joined.
    if (range.last == range.first + 1) text += "," + std::to_string(range.last);
    if (range.last > range.first + 1) text += "-" + std::to_string(range.last);
  }
  return text;
}

}  // namespace berth::workloads
