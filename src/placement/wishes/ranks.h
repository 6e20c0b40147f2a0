// The rank of a group's member: its place in the ring in which neighbours talk most.
//
// Source: Job (indexed), StatefulSet, LeaderWorkerSet.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "api/types/pod.h"

namespace berth::placement {

// By label or annotation; else the number at the end of the name; none: there is none.
std::optional<std::int64_t> member_rank(const api::Pod& pod);
// Members by the names of their groups, where numbers count as numbers; in a group by rank, then by name,
// those without a rank last.
std::vector<std::size_t> by_rank(std::span<const api::Pod* const> members);

}  // namespace berth::placement
