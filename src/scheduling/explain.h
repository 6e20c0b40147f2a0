// Berth's own sentence after Kubernetes': why a pod waits, for a person at 3 a.m.
//
// Same state, same text: reasons by text, nodes by name. Cost: only paid for pods that found no place.
#pragma once

#include <string>

#include "scheduling/framework.h"

namespace berth::scheduling {

// Node names in one clause; nodes whose devices are explained one by one.
inline constexpr std::size_t kNodesNamedMax = 3;
inline constexpr std::size_t kNodesExplainedMax = 3;

// "pod default/train-7 waits: 2 of 4 nodes lack cpu (it asks for 8; n2 comes closest with 3500m); …"
std::string explain_pod(const Attempt& attempt, const PluginSet& plugins, std::size_t node_count);

// "n1, n2, n3 and 4 more"
std::string list_nodes(const model::Cluster& cluster, const std::vector<NodeId>& nodes);

}  // namespace berth::scheduling
