// The floor on the wire: a binary frame of all cells, and JSON deltas.
//
// Pure. A frame of 100,000 devices in gangs of 64 is about 10 kB, and 200 kB where neighbours differ and
// owners repeat.
#pragma once

#include <string>

#include "base/json.h"
#include "dashboard/floor.h"

namespace berth::dashboard {

// "BFL1", then unsigned LEB128 numbers: layout version, version, cell count; runs until all cells are
// covered, each a length, a byte (use + 4 * condition) and an owner (0: nobody); the number of owners, each a
// number, a byte for its kind (OwnerKind), and namespace and name, each a length and bytes in UTF-8.
std::string floor_frame(const Floor& floor, std::uint64_t version);
// {"layout","version","runs":[[first,count,use + 4 *
// condition,owner]],"owners":[[number,kind,namespace,name]]}
Json floor_delta(const Floor& floor, const Floor::Changes& changes, std::uint64_t version);

}  // namespace berth::dashboard
