// Writes the floor, the queue and the decisions into the history, line by line.
//
// Owner: the Board. Pure but for its sink. Cost: O(what changed) and O(devices) to count them; a keyframe
// O(devices). Every line is an object with "time", in milliseconds since 1970, and one of
//
//     "layout", "runs", "owners", "queue", "sums"    a keyframe: all there is (FloorLayout, frames.h)
//     "runs", "owners", "sums"                       cells that changed
//     "queue", "sums"                                entries of the queue that changed
//     "decision", "sums"       as DecisionNotes::take_new() gives it, with the "owner" of its devices
//     "sums"                   nothing changed for kHeartbeat
//
// "queue" is {"total","entries":[{"kind","namespace","name","since","pods","devices","state","reason"}],
// "gone":[[kind,namespace,name]]}; "sums" is a row of History::overview().
#pragma once

#include <map>

#include "base/lru_map.h"
#include "base/time.h"
#include "dashboard/floor.h"
#include "dashboard/history.h"

namespace berth::dashboard {

// Of lines, then a segment ends; a keyframe is at most a quarter of one.
inline constexpr std::size_t kSegmentBytesMax = 2u << 20;
// Keyframes for new layouts: nodes that come and go all the time cost no more than this. Cells wait for it.
inline constexpr std::int64_t kKeyframeBytesPerSecondMax = 32 << 10;
inline constexpr std::size_t kRefusalsComparedMax = 4096;
inline constexpr Duration kHeartbeat = Duration::seconds(60);

class Recorder {
 public:
  // `sink` outlives it.
  explicit Recorder(HistorySink& sink) : sink_(sink) {}

  // What changed since the last call; with a new layout everything did.
  void note_floor(const Floor& floor, const Floor::Changes& changes, bool new_layout, Time now);
  // waiting_page().
  void note_queue(const Json& waiting);
  // A refusal in the words of the one before is left out.
  void note_decision(Json decision, const Owner& owner, Time now);
  // Writes what waited for its time: a keyframe, the queue's changes, a sign of life.
  void note_second(const Floor& floor, Time now);

 private:
  void write(Json line, Time now);
  void write_keyframe(const Floor& floor, Time now);
  bool is_full() const;
  Json queue_changes();

  HistorySink& sink_;
  HistorySample sums_;
  std::map<Owner, Json> queue_, recorded_queue_;
  LruMap<std::string> said_{kRefusalsComparedMax};  // result and text of the latest decision about each
  std::int64_t total_ = 0, recorded_total_ = 0;
  bool is_behind_ = true;  // the layout is not that of the latest keyframe
  bool begins_ = true;
  std::size_t segment_bytes_ = 0, keyframe_bytes_ = 0;
  Time next_keyframe_, next_heartbeat_;
};

}  // namespace berth::dashboard
