// Room: what is free in each domain, and where it is broken up.
//
// Pure. Cost: O(devices + domains log domains).
#pragma once

#include "base/json.h"
#include "dashboard/floor.h"

namespace berth::dashboard {

inline constexpr std::size_t kDomainsShownMax = 4096;

// {"levels":[{"name","domains","largestFree","largestWhole","mostFreeNodes"}],"domains":[{"level","path",
// "nodes","devices","free","used","reserved","out","freeNodes","stranded"}]}, the whole floor first, a parent
// before its children. `out`: in no use, and closed or ill. `freeNodes`: nodes of which every device is free.
// `stranded`: free devices of nodes on which others are in use. `largestWhole`: the devices of the free nodes
// of one domain at most, `mostFreeNodes` such nodes. These are sums of devices; whether a group fits says
// `berth plan`.
Json room_page(const Floor& floor);

}  // namespace berth::dashboard
