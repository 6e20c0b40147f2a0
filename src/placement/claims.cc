#include "placement/claims.h"

#include <algorithm>
#include <set>

#include "api/types/claim_consumer.h"
#include "api/types/device_readiness.h"
#include "dra/allocator.h"

namespace berth::placement {

namespace {

void add_members(const SchedulingContext& context, const model::ClaimRow& row, const std::string& group,
                 std::set<std::string_view>& uids) {
  for (const api::Pod* member : context.view.pods_using_claim(row.key.ns, row.key.name))
    if (member->group == group && member->bound() && !member->finished()) uids.insert(member->meta.uid);
}

}  // namespace

std::size_t other_consumers(const SchedulingContext& context, model::ClaimId claim, const api::Pod& pod) {
  const model::ClaimRow& row = context.cluster.claim(claim);
  std::set<std::string_view> uids;
  if (row.live)
    for (const api::ClaimConsumer& consumer : row.live->reserved_for) {
      const bool own_group = api::is_group(consumer) && consumer.name == pod.group;
      if (own_group) add_members(context, row, pod.group, uids);
      if (!own_group) uids.insert(consumer.uid);
    }
  for (const auto& [name, request] : row.bind_requests)
    if (context.cluster.is_effective(*request)) uids.insert(request->pod_uid);
  for (const std::string& uid : row.assumed_by) uids.insert(uid);
  uids.erase(pod.meta.uid);
  return uids.size();
}

std::size_t other_entries(const SchedulingContext& context, model::ClaimId claim, const api::Pod& pod,
                          const api::PodClaim& named) {
  const model::ClaimRow& row = context.cluster.claim(claim);
  const api::PodGroup* group = context.view.pod_groups.find(pod.meta.ns, pod.group);
  if (group && !api::shared_entry(*group, named)) group = nullptr;
  const auto& assumptions = context.cluster.assumptions();
  std::set<std::string_view> uids;
  if (row.live)
    for (const api::ClaimConsumer& consumer : row.live->reserved_for) uids.insert(consumer.uid);
  for (const auto& [name, request] : row.bind_requests)
    if (context.cluster.is_effective(*request) && (!group || request->group.name != pod.group))
      uids.insert(request->pod_uid);
  for (const std::string& uid : row.assumed_by) {
    const auto assumed = group ? assumptions.find(uid) : assumptions.end();
    const api::Pod* other = assumed == assumptions.end()
                                ? nullptr
                                : context.view.pods.find(assumed->second.pod.ns, assumed->second.pod.name);
    if (!other || other->group != pod.group) uids.insert(uid);
  }
  uids.erase(group ? group->meta.uid : pod.meta.uid);
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

}  // namespace berth::placement
