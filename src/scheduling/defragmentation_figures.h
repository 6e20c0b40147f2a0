// What came of the searches for moves and of the moves: a record for the log, and counts for the metrics.
//
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/time.h"

namespace berth::scheduling {

// Of a search: NoLevel (the configured level does not exist), Nothing, Reported or Begun. Of a set of moves:
// Reached or GivenUp. Moved: a pod was evicted.
enum class DefragmentationResult : std::uint8_t {
  NoLevel,
  Nothing,
  Reported,
  Begun,
  Reached,
  GivenUp,
  Moved
};
inline constexpr std::size_t kDefragmentationResultCount = 7;
std::string_view name_of(DefragmentationResult result);

struct DefragmentationRecord {
  Time time;
  DefragmentationResult result = DefragmentationResult::Nothing;
  std::string text;               // what the moves buy, or why the level cannot be used
  std::size_t whole_domains = 0;  // of a search: without a device in use
};

class DefragmentationFigures {
 public:
  void count(const DefragmentationRecord& record);
  void write_metrics(MetricsText& text) const;

 private:
  std::array<std::uint64_t, kDefragmentationResultCount> counts_{};
  std::uint64_t whole_domains_ = 0;
};

}  // namespace berth::scheduling
