// When the taints of its devices end a pod. Pure functions of the view.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/view.h"

namespace berth::controllers {

struct DeviceEviction {
  Time when;
  std::set<std::string> rules;  // names of the DeviceTaintRules among the reasons
};

using TaintRuleList = std::vector<const api::DeviceTaintRule*>;

// Whether the rule can evict users of this device. A rule without selector evicts nobody, though it keeps new
// users away: as shipped.
bool may_evict(const api::DeviceTaintRule& rule, const api::DeviceResult& result);
bool may_evict(const api::DeviceTaintRule& rule, const api::ResourceClaim& claim);

// The earliest untolerated NoExecute taint of the pod's devices, of slices in their newest generation and of
// `rules`; nothing for a pod that is not bound, ends, or holds no such device. Cost: O(devices of the pools).
std::optional<DeviceEviction> device_eviction(const client::View& view, const api::Pod& pod,
                                              const TaintRuleList& rules);

// The pod's claims that are allocated and reserved for it.
std::vector<const api::ResourceClaim*> claims_held(const client::View& view, const api::Pod& pod);

}  // namespace berth::controllers
