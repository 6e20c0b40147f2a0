// The latest refusal of everything that waits, what was decided lately, and which rooms are held, as the
// scheduler passes them on.
//
// What begins with add, and hold(), are thread-safe; add() costs a copy; the rest belongs to the Board's
// thread. Bounded: where more lines arrive than are read, the oldest are dropped and counted; of refusals the
// latest kRefusalsKeptMax are kept.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/lru_map.h"
#include "base/time.h"
#include "dashboard/owners.h"
#include "explain/decision_line.h"
#include "scheduling/held_rooms.h"

namespace berth::dashboard {

inline constexpr std::size_t kUnreadLinesMax = 4096;
inline constexpr std::size_t kUnreadBytesMax = 8u << 20;  // the latest line is always kept
inline constexpr std::size_t kRefusalsKeptMax = 16'384;
inline constexpr std::size_t kLatestDecisionsMax = 100;
inline constexpr std::size_t kNewDecisionsMax = 4096;
inline constexpr std::size_t kTextBytesMax = 600;  // of an explanation in the list of decisions

struct DecisionTotals {
  std::uint64_t placed = 0, refused = 0, dropped = 0;
};

class DecisionNotes {
 public:
  // A line of explain::decision_line().
  void add(std::string_view line);
  // Replaces the rooms that the scheduler holds.
  void hold(scheduling::HeldRooms rooms);
  void add_writes(const explain::WriteCounts& writes);
  void add_write_times(const client::WriteTimes& times);
  // Reads what was added or replaced; true if there was anything besides writes.
  bool read();
  // {"decided","reason","sentence","explanation","refused"} of the latest decision about it, unless that
  // placed it; null: none is known.
  const Json* refusal_of(const Owner& of) const;
  void forget(const Owner& of);
  const scheduling::HeldRooms& held_rooms() const { return held_; }
  const DecisionTotals& totals() const { return totals_; }
  const explain::WriteCounts& writes() const { return writes_; }          // since the start
  const client::WriteTimes& write_times() const { return write_times_; }  // the same
  // [{"time","kind","namespace","name","result","text"}], the latest first.
  Json latest() const;
  // Rows of latest() since the last call, in their order: the first kNewDecisionsMax.
  std::vector<Json> take_new();

 private:
  void note(const Json& line);

  std::mutex mutex_;
  std::deque<std::string> unread_;
  std::size_t unread_bytes_ = 0;
  std::uint64_t dropped_ = 0;
  std::optional<scheduling::HeldRooms> unread_held_;
  scheduling::HeldRooms held_;
  explain::WriteCounts counted_writes_, writes_;     // the second one as of the last read()
  client::WriteTimes counted_times_, write_times_;   // the same
  mutable LruMap<Json> refusals_{kRefusalsKeptMax};  // find() is not const; null: forgotten
  std::deque<Json> latest_;
  std::vector<Json> new_;
  DecisionTotals totals_;
};

}  // namespace berth::dashboard
