// The rooms that the scheduler keeps free for somebody, by name: what its keepers hold, for pages.
//
// Pure; on the scheduler's thread. Cost: O(rooms), and O(places + devices) of those that are listed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "placement/entity.h"

namespace berth::scheduling {

inline constexpr std::size_t kRoomsListedMax = 256;
// Of all rooms together; the counts of a room are whole.
inline constexpr std::size_t kRoomNodesListedMax = 4096;
inline constexpr std::size_t kRoomDevicesListedMax = 16'384;

// Overtaken: its owner was overtaken too long. Preemption: its victims leave. Nomination: the pod's
// status.nominatedNodeName. Replacement: members that failed nodes lost. Relocation: pods move for it.
// Successor: its pod left, and is made again.
enum class RoomPurpose : std::uint8_t {
  Overtaken,
  Preemption,
  Nomination,
  Replacement,
  Relocation,
  Successor
};
std::string_view name_of(RoomPurpose purpose);

struct RoomDevice {
  std::string driver, pool, device;
  friend bool operator==(const RoomDevice&, const RoomDevice&) = default;
};

struct HeldRoom {
  RoomPurpose purpose = RoomPurpose::Overtaken;
  placement::EntityKey owner;  // of a Successor: its group, else a pod that leaves
  Time until;                  // when it ends at the latest; not set: its owner's nomination says so
  std::size_t node_count = 0, device_count = 0;
  std::vector<std::string> nodes;  // ascending, each once
  std::vector<RoomDevice> devices;
  friend bool operator==(const HeldRoom&, const HeldRoom&) = default;
};

struct HeldRooms {
  std::size_t total = 0;
  std::vector<HeldRoom> rooms;  // by purpose, then by owner
  friend bool operator==(const HeldRooms&, const HeldRooms&) = default;
};

struct LoopState;
HeldRooms held_rooms(const LoopState& loop);

}  // namespace berth::scheduling
