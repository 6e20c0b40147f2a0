#include "placement/defragmentation/stay_reason.h"

#include <array>
#include <cstddef>

namespace berth::placement {
namespace {

struct StayReasonRow {
  std::string_view name, words;
};
constexpr std::array<StayReasonRow, kStayReasonCount> kStayReasons = {{
    {"NotBound", "is not bound yet, or does not end"},
    {"MovedBefore", "came to its node by an earlier move"},
    {"NoController", "has no controller that would make it again"},
    {"TiedToNode", "could only come back to its node"},
    {"SystemCritical", "is critical for the cluster"},
    {"AskedToStay", "asks not to be moved, by an annotation"},
    {"SharesClaim", "shares a claim with others"},
    {"GroupGoesAsOne", "goes with its whole group, and others of it stay"},
    {"PolicyFault", "has a group whose PlacementPolicy cannot be read"},
    {"GangMinimum", "is needed for the minimum of its gang"},
    {"DisruptionBudget", "is protected by a PodDisruptionBudget"},
    {"NoRoom", "has no room elsewhere"},
    {"DeviceInUse", "has a device that no movable pod uses"},
    {"TooManyMoves", "takes more moves than are left"},
    {"BelowRatio", "gains too few devices for those that move"},
    {"NotTried", "was not tried: the limits were reached before"},
}};

}  // namespace

std::string_view name_of(StayReason reason) {
  return kStayReasons[static_cast<std::size_t>(reason)].name;
}

std::string_view words_of(StayReason reason) {
  return kStayReasons[static_cast<std::size_t>(reason)].words;
}

}  // namespace berth::placement
