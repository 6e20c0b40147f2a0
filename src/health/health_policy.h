// Acts on device health, where a DeviceHealthPolicy says so: the reconciler "device-health-policy", one key a
// policy.
//
// A device of the policy's driver that matched for `holdFor` gets a DeviceTaintRule of the policy. The rule
// is deleted when the device was Healthy for `recoverAfter` without a break, or with its node or the policy,
// its owner. The device-taint eviction and the scheduler act on rules. Budgets bound how many rules have the
// effect NoExecute at once; a device beyond them gets NoSchedule. Unknown never ends a rule, and begins one
// only for a policy of `health: Unknown`. A new process starts all periods again. Reads the feed of the
// agents in this process, and the NodeDeviceHealths of agents elsewhere, of nodes that exist. Cost of a run:
// O(nodes + devices of nodes that changed + matching devices + rules); all devices when the policy changed or
// a device is not reported any more.
#pragma once

#include <memory>

#include "client/decider.h"
#include "health/health_feed.h"

namespace berth::health {

inline constexpr std::string_view kHealthPolicyName = "device-health-policy";
inline constexpr std::string_view kHealthTaintKey = "berth.dev/device-health";
inline constexpr std::string_view kTaintedNodeLabel = "berth.dev/node";
inline constexpr std::string_view kTaintCauseAnnotation = "berth.dev/cause";
inline constexpr std::size_t kRuleWritesPerRunMax = 64;

// `feed` outlives it; null where no agents are. Signals about a Node (Engine::wake) run every policy.
std::unique_ptr<client::Reconciler> make_health_policies(HealthFeed* feed);

}  // namespace berth::health
