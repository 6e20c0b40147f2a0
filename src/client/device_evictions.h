// When a device taint evicts a pod. Pure functions of the view.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/view.h"

namespace berth::client {

struct DeviceEviction {
  Time when;
  std::set<std::string> rules;  // names of the DeviceTaintRules among the reasons
};

using TaintRuleList = std::vector<const api::DeviceTaintRule*>;

// The rules whose taint evicts.
TaintRuleList evicting_rules(const View& view);

// Whether the rule can evict users of this device. A rule without selector evicts no pod, though it blocks
// new pods: as in Kubernetes.
bool may_evict(const api::DeviceTaintRule& rule, const api::DeviceResult& result);
bool may_evict(const api::DeviceTaintRule& rule, const api::ResourceClaim& claim);

// The pod and those that are disrupted with it: the members of its PodGroup when the group's disruptionMode
// is `all`, else the pod alone. Source: KEP-5710's rule for preemption; 1.37's eviction does not apply it.
std::vector<const api::Pod*> disrupted_with(const View& view, const api::Pod& pod);

// The earliest untolerated NoExecute taint on the devices of the pod and of pods disrupted with it. Taints
// come from slices of the newest generation and from `rules`. Nothing for a pod that is unbound or
// terminating, or without such a taint. Cost: O(devices of the pools), for each of these pods.
std::optional<DeviceEviction> device_eviction(const View& view, const api::Pod& pod,
                                              const TaintRuleList& rules);

// The same of the pod's own devices.
std::optional<DeviceEviction> own_device_eviction(const View& view, const api::Pod& pod,
                                                  const TaintRuleList& rules);

// The pod's claims that are allocated and reserved for it.
std::vector<const api::ResourceClaim*> claims_held(const View& view, const api::Pod& pod);

}  // namespace berth::client
