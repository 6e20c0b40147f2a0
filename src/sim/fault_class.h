// The simulator's faults, by name: the rows of its statistics and of stored plans.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::sim {

enum class FaultClass : std::uint8_t {
  // of one request
  RequestLost,  // never arrives; the sender cannot know
  RequestLate,  // arrives after its sender gave it up
  AnswerLost,   // carried out, the response is lost
  AnswerLate,   // carried out, the response arrives after later watch events
  NotSent,      // refused before it was sent
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
  WatchBatch,   // part of the pending events is held back
  WatchBroken,  // ends and is resumed
  WatchGone,    // 410: lists again
  ListOld,      // the next list is of an older revision
  EventRepeated,
  // of one process
  Killed,
  KilledAtWrite,  // between two chosen writes
  Stopped,        // SIGTERM
  Paused,
  ClockJump,
  LeaseLost,
  LeaseDeleted,  // by a user, while nobody holds it or under its holder
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
  ClaimRivalled,  // allocated by another scheduler
  DeviceIll,      // its driver reports it as Unhealthy or Unknown
};
inline constexpr std::size_t kFaultClassCount = static_cast<std::size_t>(FaultClass::DeviceIll) + 1;

std::string_view name_of(FaultClass fault);
std::optional<FaultClass> fault_named(std::string_view name);

using FaultCounts = std::array<std::uint64_t, kFaultClassCount>;

}  // namespace berth::sim
