// The short forms of pods and nodes in stories.
#pragma once

#include <string>

#include "base/json.h"

namespace berth::sim {

// {pod: NAME, claims: TEMPLATE or list of them, group: PODGROUP, cpu: "1", node: NODE (selector by hostname),
//  labels: {}, annotations: {}, priority: 5} as a Pod of scheduler "berth". Claim names are the templates'
//  names.
Json story_pod(const Json& words);

// A simulated node: {labels: {}, capacity: {nvidia.com/gpu: "4"}} besides its hostname, 32 cpu, 128 Gi and
// 110 pods.
Json story_node(const Json& words, const std::string& name);

// A PodGroup of four pods that need one rack, all or none.
Json story_gang(const std::string& name);

}  // namespace berth::sim
