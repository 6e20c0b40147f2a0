// Nodes without a machine: Berth plays their kubelet.
#pragma once

#include "api/types/cluster.h"

namespace berth::api {

inline constexpr std::string_view kSimulatedLabel = "berth.dev/simulated";  // "true"

inline bool is_simulated(const Node& node) {
  const auto label = node.meta.labels.find(kSimulatedLabel);
  return label != node.meta.labels.end() && label->second == "true";
}

}  // namespace berth::api
