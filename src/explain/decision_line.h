// A decision as one line of JSON: the format of the decision log on disk and of the decision pages.
//
// Pure. Source: outer surface, "an append-only decision log that `explain`, replay and the dashboard read".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "client/write_times.h"
#include "scheduling/decision_log.h"
#include "scheduling/held_rooms.h"

namespace berth::explain {

// With its newline.
std::string decision_line(const scheduling::DecisionRecord& record);

// Kubernetes' sentence in a line: its message without the explanation that follows.
std::string sentence_in(const Json& line);

// Writes to the API: accepted ones, and those that a conflict, a refusal or a lost answer ended.
struct WriteCounts {
  std::uint64_t accepted = 0, failed = 0;
  friend bool operator==(const WriteCounts&, const WriteCounts&) = default;
};

// Receives what the scheduler decides and holds, on its thread.
class DecisionSink {
 public:
  virtual ~DecisionSink() = default;
  // A whole line. Called during scheduling: it must not wait for a disk.
  virtual void append(std::string_view line) = 0;
  // Called between decisions.
  virtual void flush() = 0;
  // All rooms that are held now, after a change; at most once a second.
  virtual void hold(scheduling::HeldRooms) {}
  // Writes of the scheduler's loop since the last call; where BindRequests are in memory it also binds.
  virtual void add_writes(const WriteCounts&) {}
  // How long writes of all loops of this process took, since the last call.
  virtual void add_write_times(const client::WriteTimes&) {}
};

}  // namespace berth::explain
