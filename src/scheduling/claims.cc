#include "scheduling/claims.h"

#include <algorithm>
#include <set>

#include "api/types/device_readiness.h"
#include "dra/allocator.h"

namespace berth::scheduling {

std::size_t other_consumers(const SchedulingContext& context, model::ClaimId claim,
                            std::string_view pod_uid) {
  const model::ClaimRow& row = context.cluster.claim(claim);
  std::set<std::string_view> uids;
  if (row.live)
    for (const api::ClaimConsumer& consumer : row.live->reserved_for) uids.insert(consumer.uid);
  for (const auto& [name, request] : row.bind_requests)
    if (context.cluster.is_effective(*request)) uids.insert(request->pod_uid);
  for (const std::string& uid : row.assumed_by) uids.insert(uid);
  uids.erase(pod_uid);
  return uids.size();
}

bool is_unusable(const SchedulingContext& context, const api::ResourceClaim& claim) {
  if (!context.allocator.gates().binding_conditions) return false;
  const api::DeviceReadiness readiness = api::readiness_of(claim);
  if (readiness.ready()) return false;
  const Time deadline = api::binding_deadline(claim, context.binding_timeout);
  return readiness.failure || (deadline.is_set() && context.now.is_set() && context.now >= deadline);
}

bool asks_for_devices(const api::Pod& pod) {
  const auto extended = [](const api::Container& container) {
    return std::any_of(container.requests.begin(), container.requests.end(),
                       [](const auto& request) { return request.first.find('/') != std::string::npos; });
  };
  return !pod.claims.empty() || std::any_of(pod.containers.begin(), pod.containers.end(), extended) ||
         std::any_of(pod.init_containers.begin(), pod.init_containers.end(), extended);
}

}  // namespace berth::scheduling
