// Why a pod is not moved, or a domain not emptied: data, and a sentence's part for people.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth::placement {

enum class StayReason : std::uint8_t {
  // Of a pod, whatever else moves.
  NotBound,        // its decision is under way, or it is being deleted for too long
  MovedBefore,     // it came to its node by an earlier move
  NoController,    // nobody makes it again
  TiedToNode,      // a DaemonSet's, a mirror pod, with a local volume, or bound to the node by name
  SystemCritical,  // of a class of Kubernetes' own
  AskedToStay,     // by an annotation
  SharesClaim,     // another pod uses its claim, or its group has it
  GroupGoesAsOne,  // with a tree of groups, or with members that stay
  PolicyFault,     // the policy about its group cannot be read
  // Of a pod, as things are.
  GangMinimum,
  DisruptionBudget,
  NoRoom,  // no other node takes it; of a domain: the others have too few free devices
  // Of a domain.
  DeviceInUse,   // by no pod that moves
  TooManyMoves,  // more than the limits leave
  BelowRatio,
  NotTried,  // the search ended, or has emptied as many domains as it may
};
inline constexpr std::size_t kStayReasonCount = 16;

// "NoController": the reason in JSON.
std::string_view name_of(StayReason reason);
// "has no controller that would make it again": after the name of the pod, or of the domain.
std::string_view words_of(StayReason reason);

}  // namespace berth::placement
