// The kinds of trouble that the simulator makes, by name: the rows of its statistics and of stored plans.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::sim {

enum class FaultClass : std::uint8_t {
  // of one request
  RequestLost,  // never lands, and nobody can tell
  RequestLate,  // lands after its sender was told that it is lost
  AnswerLost,   // carried out, but the answer does not come
  AnswerLate,   // carried out, and the answer comes after later watch events
  NotSent,      // refused before it left
  Reset,        // the connection broke: carried out or not
  Forbidden,    // 403
  NotFound,     // 404 of a proxy: no Status
  Conflict,     // 409
  Throttled,    // 429 with Retry-After
  Invalid,      // 422
  ServerError,  // 500, not carried out
  ErrorAfter,   // 500, carried out
  Unavailable,  // 503
  ReadFailed,   // a GET fails in one of these ways
  WritesSlow,   // a write waits for its turn at the client
  // of one watch
  WatchLag,
  WatchBatch,   // part of what is due is held back
  WatchBroken,  // ends and is resumed
  WatchGone,    // 410: lists again
  ListOld,      // that list is of an older revision
  EventRepeated,
  // of one process
  Killed,
  KilledAtWrite,  // between two chosen writes
  Stopped,        // SIGTERM
  Paused,
  ClockJump,
  LeaseLost,
  // of the API server
  Outage,
  // made by users, drivers and other controllers
  PodDeleted,
  PodForceDeleted,
  PodRecreated,
  PodResized,
  NodeLost,
  NodeChanged,  // relabelled, tainted or cordoned
  GroupEdited,
  SliceRepublished,
  DeviceLost,
  DeviceTainted,
  ClaimRivalled,  // allocated by somebody else
};
inline constexpr std::size_t kFaultClassCount = static_cast<std::size_t>(FaultClass::ClaimRivalled) + 1;

std::string_view name_of(FaultClass fault);
std::optional<FaultClass> fault_named(std::string_view name);

using FaultCounts = std::array<std::uint64_t, kFaultClassCount>;

}  // namespace berth::sim
