// The pods of a node as its agent needs them, and the node's amounts as its device plugins report them. Pure.
#pragma once

#include "client/view.h"
#include "health/health_feed.h"

namespace berth::health {

// Pods that are bound to the node and have not finished. Cost: O(pods of the node).
NodePods node_pods(const client::View& view, std::string_view node);

// Whether a container of the pod requests an extended resource.
bool requests_extended(const api::Pod& pod);

// The claims of the pod and the drivers that are called for each; nothing while the view lacks one of them,
// or its allocation or reservation.
std::optional<std::vector<NeededClaim>> needed_claims(const client::View& view, const api::Pod& pod);

// Whether the pod's containers may start: each claim is prepared by all of its drivers that are known on the
// pod's node. False while a new plugin on the node has not said whether it is another of them. Always true
// where no agent prepares claims (HealthFeed::serves).
bool containers_may_start(const HealthFeed& feed, const client::View& view, const api::Pod& pod);

// The patch of the node's status that gives capacity (every device) and allocatable (the healthy ones of a
// registered plugin) of each resource; nothing when the node says so already.
std::optional<Json> amounts_patch(const api::Node& node, const PluginResources& resources);

}  // namespace berth::health
