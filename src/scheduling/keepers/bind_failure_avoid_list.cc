#include "scheduling/keepers/bind_failure_avoid_list.h"

#include <algorithm>

#include "api/types/device_readiness.h"

namespace berth::scheduling {
namespace {

// The binder's reasons about the pod, the request, a claim or the group, not about the node.
constexpr std::string_view kNotAboutTheNode[] = {
    "ClaimDeleting",  "ClaimAllocatedElsewhere", "ClaimNotShareable", "ClaimDeallocated",
    "ClaimNameTaken", "ClaimFullyReserved",      "ClaimNotFound",     "PodGroupNotFound",
    "InvalidPod",     "InvalidRequest"};

}  // namespace

template <class Id>
void BindFailureAvoidList::add(std::vector<Avoided<Id>>& list, Id id, Time until) {
  std::erase_if(list, [&](const Avoided<Id>& one) { return one.id == id; });
  if (list.size() == kAvoidedMax) list.erase(list.begin());
  list.push_back({id, until});
}

template <class Id>
void BindFailureAvoidList::drop_expired(ByUid<Id>& lists, Time now) {
  for (auto& [uid, list] : lists)
    std::erase_if(list, [&](const Avoided<Id>& one) { return one.until <= now; });
  std::erase_if(lists, [](const auto& entry) { return entry.second.empty(); });
}

void BindFailureAvoidList::note(const api::BindRequest& request, const model::Cluster& cluster, Time now,
                                Time until) {
  drop_expired(nodes_, now);
  drop_expired(devices_, now);
  if (api::is_blameless(request.reason)) return;
  bool found = false;
  if (request.reason == api::kBindingConditionsFailed || request.reason == api::kBindingTimeout)
    for (const api::ClaimAllocation& claim : request.claims)
      for (const api::DeviceResult& result : claim.allocation.results) {
        const model::DeviceId device = cluster.find_device(result.driver, result.pool, result.device);
        if (result.binding_conditions.empty() || !device.valid()) continue;
        add(devices_[claim.claim_uid], device, until);
        found = true;
      }
  const auto& innocent = kNotAboutTheNode;
  if (found || std::find(std::begin(innocent), std::end(innocent), request.reason) != std::end(innocent))
    return;
  const model::NodeId node = cluster.find_node(request.node);
  if (node.valid()) add(nodes_[request.pod_uid], node, until);
}

std::vector<model::NodeId> BindFailureAvoidList::nodes(const std::string& pod_uid, Time now) const {
  std::vector<model::NodeId> nodes;
  if (const auto found = nodes_.find(pod_uid); found != nodes_.end())
    for (const Avoided<model::NodeId>& one : found->second)
      if (one.until > now) nodes.push_back(one.id);
  std::ranges::sort(nodes);
  return nodes;
}

std::vector<model::DeviceId> BindFailureAvoidList::devices(const model::Cluster& cluster, const api::Pod& pod,
                                                           Time now) const {
  std::vector<model::DeviceId> devices;
  if (devices_.empty()) return devices;
  for (const api::PodClaim& named : pod.claims) {
    const model::ClaimId claim = cluster.find_claim(pod.meta.ns, api::claim_object_name(pod, named));
    if (!claim.valid() || !cluster.claim(claim).live || cluster.ledger().reservation(claim)) continue;
    const auto found = devices_.find(cluster.claim(claim).live->meta.uid);
    if (found == devices_.end()) continue;
    for (const Avoided<model::DeviceId>& one : found->second)
      if (one.until > now) devices.push_back(one.id);
  }
  return devices;
}

}  // namespace berth::scheduling
