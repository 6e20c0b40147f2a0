// Reservations: the rooms that the scheduler keeps free for somebody, with their cells on the floor.
//
// Pure. Cost: O(rooms that are listed, and their nodes and devices).
#pragma once

#include "base/json.h"
#include "dashboard/floor_layout.h"
#include "scheduling/held_rooms.h"

namespace berth::dashboard {

inline constexpr std::size_t kReservedNodesNamedMax = 64;  // of a room

// {"total","rooms":[{"purpose","kind","namespace","name","until","nodeCount","nodes":[],"devices": how many,
// "cells":[[first,count]]}]}: `purpose` and the owner as in held_rooms.h; `until` is empty where a nomination
// ends it; `cells` are the devices, and nodes that are one cell each. Devices without a cell are counted
// alone.
Json reservations_page(const scheduling::HeldRooms& held, const FloorLayout& layout);

}  // namespace berth::dashboard
