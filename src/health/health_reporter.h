// Writes the health of a pod's devices into its status: the reconciler "node-agent", one key a pod.
//
// Handles pods on the nodes in the feed, from when their container statuses exist until they finish. A
// container that ended keeps its last entries, or gets its first ones once. One entry per claim that a
// container names ("claim:<pod claim>" or "claim:<pod claim>/<request>"), with devices as
// "<driver>/<pool>/<device>". One entry per resource of a device plugin ("example.com/gpu"), with devices by
// id. All are sorted. Ephemeral containers hold no devices, and the API server refuses entries for them. At
// most one write a pod and kStatusWritePeriod, none when nothing changed; it resends every container status
// of the version it saw, because the lists are atomic. Emits DeviceUnhealthy and DeviceHealthy events on
// transitions.
// Source: core/v1 ContainerStatus.allocatedResourcesStatus, KEP-4680.
//
// One more key a node whose devices are allocated here (HealthFeed::serve): sends the agent the node's pods,
// and writes capacity and allocatable of the resources of device plugins.
#pragma once

#include <memory>

#include "client/decider.h"
#include "health/health_feed.h"

namespace berth::health {

inline constexpr Duration kStatusWritePeriod = Duration::seconds(1);
inline constexpr std::size_t kHealthEventsPerRunMax = 8;  // of one pod, in one write
inline constexpr std::string_view kReporterName = "node-agent";

// Whether status.allocatedResourcesStatus is written too: the devices of claims that no container names (gate
// BerthPodLevelHealth; only for servers with the field).
enum class PodLevelHealth { Omit, Write };

// `feed` outlives it. Next to a kubelet it watches no nodes. Signals about a Node (Engine::wake) run the keys
// of its pods, those with unhealthy devices first.
std::unique_ptr<client::Reconciler> make_health_reporter(HealthFeed& feed, PodLevelHealth pod_level,
                                                         NodeRole role);

}  // namespace berth::health
