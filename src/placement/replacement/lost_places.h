// Which members of a group have lost their place: the node failed, or a device of theirs.
//
// Pure. A place is lost when its node is deleted or has not been Ready for kNotReadyGrace. It is also lost
// when the pod does not tolerate for ever a NoExecute taint of its node or of one of its devices. Nodes that
// fail together count together: once one member has lost its place, so has every other whose node is not
// ready. Cost: O(members and their taints), with devices O(devices of their pools).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/view.h"

namespace berth::placement {

inline constexpr Duration kNotReadyGrace = Duration::seconds(30);

enum class PlaceLoss : std::uint8_t { NodeGone, NodeNotReady, NodeTainted, DeviceTainted };

struct LostPlace {
  const api::Pod* pod = nullptr;
  PlaceLoss why = PlaceLoss::NodeGone;
};

struct LostPlaces {
  std::vector<LostPlace> lost;  // in the order of the members
  std::optional<Time> next;     // when a node that is not ready now counts as failed
};

// Of bound members, also those that are being deleted.
LostPlaces lost_places(const client::View& view, std::span<const api::Pod* const> bound, Time now);

bool is_ready(const api::Node& node);
// Whether some pods should not be placed on the node: it is not Ready, or a taint evicts from it.
bool is_failing(const api::Node& node);
// The same for this pod: it is not Ready, or a taint evicts the pod from it, at once or later.
bool is_failing_for(const api::Node& node, const api::Pod& pod);

// "node-7 is not ready"
std::string words_of(const LostPlace& place);

}  // namespace berth::placement
