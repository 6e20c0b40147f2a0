// What happened on the floor and in the queue: lines of JSON in segments, of which the oldest go first.
//
// A segment begins with a keyframe, so it is read alone. The one that is written is a file of lines,
// "history-MS.jsonl"; once it is full it becomes "history-MS.jsonl.gz", with a header as its first line.
// The lines are those of recorder.h. MS is when it begins, in milliseconds since 1970.
//
// Thread-safe: one thread writes, others read. Bounded in bytes as stored. A segment that cannot be written
// is logged and not kept; the next one tries again. Cost: a write a line; a read unpacks one segment.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "dashboard/floor.h"
#include "dashboard/history_segments.h"

namespace berth::dashboard {

inline constexpr std::size_t kHistoryBytesOnDiskMax = 64u << 20;
inline constexpr std::size_t kHistoryBytesInMemoryMax = 16u << 20;
inline constexpr std::size_t kHistorySegmentsMax = 512;
inline constexpr std::size_t kSamplesOfASegmentMax = 256;
inline constexpr std::size_t kSamplesShownMax = 2000;
inline constexpr std::int64_t kHistoryVersion = 1;

// Devices by use, entries that wait, and what is ill, at one time.
struct HistorySample {
  std::int64_t ms = 0;  // since 1970
  CellSums cells;
  std::int64_t waiting = 0;
  std::optional<IllSums> ill;  // not set: written by a process that did not count it
  bool has_same_sums(const HistorySample& other) const {
    return cells == other.cells && waiting == other.waiting && ill == other.ill;
  }
};

// A row of the samples of History::overview(); without the last three where they were not counted.
Json to_json(const HistorySample& sample);

class HistorySink {
 public:
  virtual ~HistorySink() = default;
  // A keyframe that begins a segment. `starts`: the first of this process, so what is before it has a gap.
  virtual void begin(std::string_view line, const HistorySample& sample, bool starts) = 0;
  virtual void add(std::string_view line, const HistorySample& sample) = 0;
};

// The samples of one segment: at most kSamplesOfASegmentMax, evenly spread.
class SegmentSamples {
 public:
  void add(const HistorySample& sample);
  const std::vector<HistorySample>& all() const { return samples_; }

 private:
  std::vector<HistorySample> samples_;
  std::int64_t spacing_ms_ = 1000;
};

class History final : public HistorySink {
 public:
  // Takes up the latest kHistorySegmentsMax that the store has, and removes earlier ones. Of a packed segment
  // it reads the header. A segment that cannot be read is logged and removed.
  explicit History(std::unique_ptr<SegmentStore> store) : store_(std::move(store)) { open_all(); }
  History(std::unique_ptr<SegmentStore> store, std::size_t bytes_max)
      : store_(std::move(store)), bytes_max_(bytes_max) {
    open_all();
  }

  void begin(std::string_view line, const HistorySample& sample, bool starts) override;
  void add(std::string_view line, const HistorySample& sample) override;

  // {"version","from","to","onDisk","bytes","bytesMax","gaps":[[from,to]],
  // "samples":[[time,used,reserved,free,out,waiting,illDevices,illNodes,illDomains]]}; times in milliseconds
  // since 1970, 0 where nothing is kept. In a gap no process of this data directory recorded.
  Json overview() const;

  struct Piece {
    std::string lines;             // of the segment that has the instant
    std::int64_t previous_ms = 0;  // when the segment before it ended; 0: none
    std::int64_t next_ms = 0;      // when the one after it begins; 0: none
  };
  // Refuses an instant before everything that is kept with Gone.
  Result<Piece> at(std::int64_t ms) const;

 private:
  struct Segment {
    std::string name;  // empty: it could not be written
    std::int64_t from_ms = 0, to_ms = 0;
    std::size_t bytes = 0;  // as stored
    bool starts = false;
    SegmentSamples samples;
  };
  void open_all();
  Status open_packed(const std::string& name);
  Status open_plain(const std::string& name);
  void finish(std::string_view lines, Segment& segment);
  void write_line(std::string_view line);
  std::int64_t after_the_last(std::int64_t ms) const;
  void evict();
  std::size_t bytes() const;

  const std::unique_ptr<SegmentStore> store_;
  const std::size_t bytes_max_ = store_->is_on_disk() ? kHistoryBytesOnDiskMax : kHistoryBytesInMemoryMax;
  mutable std::mutex mutex_;
  std::deque<Segment> segments_;  // the last is the one that is written, where `is_writing_`
  bool is_writing_ = false;
  std::string lines_;  // of the one that is written
  bool complained_ = false;
};

}  // namespace berth::dashboard
