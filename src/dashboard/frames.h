// The floor on the wire: a binary frame of all cells, and JSON deltas.
//
// Pure. A frame of 100,000 devices in gangs of 64 is about 10 kB, and 200 kB where neighbours differ and
// owners repeat.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "dashboard/floor.h"

namespace berth::dashboard {

// "BFL1", then unsigned LEB128 numbers. First come layout version, version and cell count. Runs follow until
// all cells are covered: each has a length, a byte (use + 4 * condition) and an owner (0: nobody). Then comes
// the number of owners. Each has a number, a byte for its kind (OwnerKind), a namespace and a name. Both
// texts are a length and bytes in UTF-8.
std::string floor_frame(const Floor& floor, std::uint64_t version);
// [[first,count,use + 4 * condition,owner]]
Json runs_json(const std::vector<CellRun>& runs);
// [number,kind,namespace,name]; the kind is a number of OwnerKind.
Json owner_row(OwnerId id, const Owner& owner);
// {"layout","version","runs","owners":[rows]}
Json floor_delta(const Floor& floor, const Floor::Changes& changes, std::uint64_t version);
// The cell of a number use + 4 * condition; none: it is none of these.
std::optional<Cell> cell_in(std::int64_t state, OwnerId owner);

}  // namespace berth::dashboard
