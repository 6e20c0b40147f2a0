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

// Whether the entry is that of a pod that the ledger counts as a user, or that the open transaction removed.
bool is_charged_or_removed(const model::Cluster& cluster, const model::ClaimRow& row,
                           const api::ClaimConsumer& consumer) {
  if (api::is_group(consumer)) return false;
  const model::PodId id = cluster.find_pod(row.key.ns, consumer.name);
  const bool known = id.valid() && cluster.pod(id).live && cluster.pod(id).live->meta.uid == consumer.uid;
  return known && (cluster.ledger().removed(id) || cluster.ledger().node_of(id).valid());
}

// Pods that use the claim and share no entry with a group: with `group`, or one that has an entry already.
std::size_t users_without_entry(const SchedulingContext& context, const model::ClaimRow& row,
                                const api::PodGroup* group) {
  const auto shares = [&](const api::Pod& user) {
    if (user.group.empty()) return false;
    if (group && user.group == group->meta.name) return true;
    return std::ranges::any_of(row.live->reserved_for, [&](const api::ClaimConsumer& consumer) {
      return api::is_group(consumer) && consumer.name == user.group;
    });
  };
  const auto users = context.view.pods_using_claim(row.key.ns, row.key.name);
  return static_cast<std::size_t>(std::ranges::count_if(users, [&](const api::Pod* user) {
    const model::PodId id = context.cluster.find_pod(user->meta.ns, user->meta.name);
    return id.valid() && context.cluster.ledger().node_of(id).valid() && !shares(*user);
  }));
}

}  // namespace

std::optional<PodGate> claim_gate(const client::View& view, const api::Pod& pod) {
  for (const api::PodClaim& claim : pod.claims) {
    if (api::needs_no_claim(pod, claim)) continue;
    const std::string name = api::claim_object_name(pod, claim);
    if (name.empty()) return PodGate{PodGate::Kind::ClaimNotMade, claim.name};
    const api::ResourceClaim* object = view.claims.find(pod.meta.ns, name);
    if (!object) return PodGate{PodGate::Kind::ClaimMissing, name};
    if (object->meta.deleting()) return PodGate{PodGate::Kind::ClaimDeleting, name};
    const api::OwnerReference* owner = object->meta.controller();
    const bool of_group = owner && owner->kind == "PodGroup" && !pod.group.empty();
    if (!claim.template_name.empty() && !of_group && (!owner || owner->uid != pod.meta.uid))
      return PodGate{PodGate::Kind::ClaimOfOther, name};
  }
  return std::nullopt;
}

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
  const model::Cluster& cluster = context.cluster;
  const model::ClaimRow& row = cluster.claim(claim);
  const api::PodGroup* group = context.view.pod_groups.find(pod.meta.ns, pod.group);
  if (group && !api::shared_entry(*group, named)) group = nullptr;
  const std::string& own = group ? group->meta.uid : pod.meta.uid;
  std::size_t entries = 0;
  bool groups = group != nullptr;
  if (row.live)
    for (const api::ClaimConsumer& consumer : row.live->reserved_for) {
      groups |= api::is_group(consumer);
      if (consumer.uid != own && !is_charged_or_removed(cluster, row, consumer)) ++entries;
    }
  if (groups) return entries + users_without_entry(context, row, group);
  const model::PodId id = cluster.find_pod(pod.meta.ns, pod.meta.name);
  const bool uses = id.valid() && std::ranges::count(cluster.ledger().charge(id).claims, claim) > 0;
  return entries + static_cast<std::size_t>(cluster.ledger().users(claim)) - (uses ? 1 : 0);
}

std::int64_t least_devices(const api::DeviceRequest& request) {
  std::int64_t least = request.alternatives.empty() ? 0 : INT64_MAX;
  for (const api::DeviceSubRequest& one : request.alternatives) {
    const bool counted = one.mode == api::AllocationMode::ExactCount && !one.admin_access;
    least = std::min(least, counted ? one.count : 0);
  }
  return least;
}

std::int64_t least_devices(const api::ResourceClaim& claim) {
  std::int64_t devices = 0;
  for (const api::DeviceRequest& request : claim.requests) devices += least_devices(request);
  return devices;
}

std::optional<std::int64_t> count_devices(const model::Cluster& cluster, model::PoolId id,
                                          const std::function<bool(model::DeviceId)>& is_free) {
  const model::PoolRow& pool = cluster.pool(id);
  std::int64_t count = 0;
  for (const auto& [name, device] : pool.devices) {
    const api::Device* offer = cluster.find_offer(pool.driver, pool.pool, name);
    if (offer && offer->allow_multiple) return std::nullopt;
    count += is_free(device) ? 1 : 0;
  }
  return count;
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
