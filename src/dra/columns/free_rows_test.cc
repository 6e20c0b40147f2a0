#include "dra/columns/free_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace berth::dra {
namespace {

// The same by a scan of every row.
class EveryRow {
 public:
  std::uint32_t take(std::uint32_t count) {
    std::size_t best = used_.size(), best_size = 0;
    for (std::size_t at = 0; at < used_.size();) {
      const auto end = std::find(used_.begin() + static_cast<std::ptrdiff_t>(at), used_.end(), !used_[at]);
      const std::size_t size = static_cast<std::size_t>(end - used_.begin()) - at;
      if (!used_[at] && size >= count && (best_size == 0 || size < best_size)) {
        best = at;
        best_size = size;
      }
      at += size;
    }
    if (best_size == 0) used_.resize(used_.size() + count);
    set(static_cast<std::uint32_t>(best), count, true);
    return static_cast<std::uint32_t>(best);
  }
  void set(std::uint32_t begin, std::uint32_t count, bool used) {
    std::fill_n(used_.begin() + begin, count, used);
  }
  std::uint32_t end() const { return static_cast<std::uint32_t>(used_.size()); }
  std::uint32_t in_use() const { return static_cast<std::uint32_t>(std::ranges::count(used_, true)); }

 private:
  std::vector<bool> used_;
};

TEST(FreeRows, AreThoseThatLookingAtEveryRowFinds) {
  SeededRandom random(11);
  for (int round = 0; round < 100; ++round) {
    FreeRows rows;
    EveryRow every_row;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> taken;  // begin, count
    for (int step = 0; step < 200; ++step) {
      if (taken.empty() || random.below(5) < 3) {
        const auto count = static_cast<std::uint32_t>(1 + random.below(6));
        taken.emplace_back(rows.take(count), count);
        ASSERT_EQ(taken.back().first, every_row.take(count));
      } else {
        const std::size_t which = random.below(taken.size());
        const auto [begin, count] = taken[which];
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
        rows.give(begin, count);
        every_row.set(begin, count, false);
      }
      ASSERT_EQ(rows.end(), every_row.end());
      ASSERT_EQ(rows.in_use(), every_row.in_use());
    }
  }
}

}  // namespace
}  // namespace berth::dra
