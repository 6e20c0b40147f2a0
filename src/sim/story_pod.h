// The short form of a pod in stories.
#pragma once

#include "base/json.h"

namespace berth::sim {

// {pod: NAME, claims: TEMPLATE or list of them, group: PODGROUP, cpu: "1", node: NODE (selector by hostname),
//  labels: {}, annotations: {}, priority: 5} as a Pod of scheduler "berth". Claim names are the templates'
//  names.
Json story_pod(const Json& words);

// A PodGroup of four pods that need one rack, all or none.
Json story_gang(const std::string& name);

}  // namespace berth::sim
