// Decisions, bindings and waiting pods, a sample a second for the last ten minutes.
//
// Owner: the Board.
#pragma once

#include <deque>

#include "base/json.h"
#include "dashboard/decision_notes.h"

namespace berth::dashboard {

inline constexpr std::size_t kSamplesMax = 600;

class PacePage {
 public:
  // Ends a second. `bound` counts since the start; `waiting` is now.
  void sample(const DecisionTotals& decided, std::uint64_t bound, std::size_t waiting, Time now);
  // {"time":[seconds since 1970],"placed":[],"refused":[],"bound":[],"waiting":[],"decisions":[…]}: the
  // counts of each second, and the latest decisions, the newest first.
  Json page(const DecisionNotes& notes) const;

 private:
  struct Sample {
    std::int64_t second = 0;
    std::int64_t placed = 0, refused = 0, bound = 0, waiting = 0;
  };
  std::deque<Sample> samples_;
  DecisionTotals decided_;
  std::uint64_t bound_ = 0;
};

}  // namespace berth::dashboard
