// Nodes without a machine: Berth plays their kubelet.
#pragma once

#include "api/types/cluster.h"

namespace berth::api {

inline constexpr std::string_view kSimulatedLabel = "berth.dev/simulated";  // "true"

// What the simulated kubelet does; any other value: it runs. Silent: it renews no Lease and reports nothing.
// NotReady: it renews its Lease and reports that it is not ready. Neither starts or ends pods.
inline constexpr std::string_view kAgentAnnotation = "berth.dev/agent";
inline constexpr std::string_view kAgentSilent = "Silent";
inline constexpr std::string_view kAgentNotReady = "NotReady";

inline bool is_simulated(const Node& node) {
  const auto label = node.meta.labels.find(kSimulatedLabel);
  return label != node.meta.labels.end() && label->second == "true";
}
// Whether Berth plays a kubelet on the node that starts and ends pods.
inline bool runs_pods(const Node& node) {
  const std::string_view agent = node.meta.annotation(kAgentAnnotation);
  return is_simulated(node) && agent != kAgentSilent && agent != kAgentNotReady;
}

}  // namespace berth::api
