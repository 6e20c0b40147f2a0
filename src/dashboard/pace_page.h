// Decisions, bindings, writes and waiting pods, a sample a second for the last ten minutes.
//
// Owner: the Board.
#pragma once

#include <deque>
#include <optional>

#include "base/json.h"
#include "dashboard/decision_notes.h"

namespace berth::dashboard {

inline constexpr std::size_t kSamplesMax = 600;

// Counts since the start.
struct PaceTotals {
  DecisionTotals decided;
  std::uint64_t bound = 0;
  explain::WriteCounts writes;
  client::WriteTimes write_times;
};

class PacePage {
 public:
  // Ends a second; `waiting` is now.
  void sample(const PaceTotals& totals, std::size_t waiting, Time now);
  // {"time":[seconds since 1970],"placed":[],"refused":[],"bound":[],"written":[],"notWritten":[],
  // "waiting":[],"answerP50Micros":[],"answerP99Micros":[],"answers":[{"verb","count","p50Micros",
  // "p99Micros"}],"decisions":[…]}: the counts of each second, and the latest decisions, the newest first.
  // Writes are those of the scheduler's loop, which also binds where BindRequests are in memory.
  //
  // `answers`: how long the API server took to answer writes of all loops of this process since its start.
  // The two columns before it are of each second, null without an answer. Times are exact to a quarter.
  Json page(const DecisionNotes& notes) const;

 private:
  struct Sample {
    std::int64_t second = 0;
    std::int64_t placed = 0, refused = 0, bound = 0, written = 0, not_written = 0, waiting = 0;
    std::optional<Duration> half_within, most_within;
  };
  std::deque<Sample> samples_;
  PaceTotals totals_;
};

}  // namespace berth::dashboard
