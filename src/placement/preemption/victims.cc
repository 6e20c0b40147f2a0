#include "placement/preemption/victims.h"

#include <algorithm>

#include "api/node_names.h"
#include "api/types/claim_consumer.h"
#include "api/types/gpu_share.h"
#include "client/group_tree.h"

namespace berth::placement {
namespace {

constexpr std::string_view kNodeNameField = "metadata.name";

bool names_nodes(const api::NodeSelector& selector) {
  const auto by_name = [](const api::Requirement& one) {
    return one.key == api::kHostnameLabel || one.key == kNodeNameField;
  };
  return std::ranges::any_of(selector.terms, [&](const api::NodeSelectorTerm& term) {
    return std::ranges::any_of(term.expressions, by_name) || std::ranges::any_of(term.fields, by_name);
  });
}

bool has_local_volume(const client::View& view, const api::Pod& pod) {
  return std::ranges::any_of(pod.volumes, [&](const api::PodVolume& volume) {
    const auto* claim = view.volume_claims.find(pod.meta.ns, volume.claim_name);
    const auto* bound = claim ? view.volumes.find("", claim->volume_name) : nullptr;
    return bound && bound->node_affinity && names_nodes(*bound->node_affinity);
  });
}

}  // namespace

bool holds_gpu_alone(const model::NodeUse& use, const api::Pod& pod) {
  if (!api::is_gpu_reservation(pod)) return false;
  const std::string_view name = pod.meta.annotation(api::kGpuGroupAnnotation);
  return std::ranges::any_of(use.gpu_groups, [name](const model::GpuGroupUse& group) {
    return group.name == name && group.members == 1;
  });
}

Evictability evictability(const model::Cluster& cluster, PodId id, Time now) {
  const model::PodRow& row = cluster.pod(id);
  if (!row.live || api::is_gpu_reservation(*row.live)) return Evictability::Fixed;
  const api::Pod& pod = *row.live;
  if (!pod.meta.annotation(api::kMirrorAnnotation).empty()) return Evictability::Fixed;
  if (pod.meta.deleting()) {
    const bool late = now.is_set() && now > pod.meta.deleted + kLateEndMax;
    return late ? Evictability::Fixed : Evictability::EndsSoon;
  }
  if (cluster.ledger().is_leaving(id)) return Evictability::EndsSoon;
  if (pod.bound()) return Evictability::Evictable;
  // The decision of a pod alone is withdrawn; a gang's members are bound together or not at all.
  const bool withdrawable = pod.group.empty() && cluster.effective_request(row);
  return withdrawable ? Evictability::Evictable : Evictability::BeingBound;
}

std::int32_t priority_of(const client::View& view, const api::Pod& pod) {
  if (pod.group.empty()) return pod.priority;
  const api::PodGroup* group = view.pod_groups.find(pod.meta.ns, pod.group);
  return group ? priority_of(view, *group) : pod.priority;
}

std::int32_t priority_of(const client::View& view, const api::PodGroup& group) {
  const std::vector<const api::CompositePodGroup*> above = client::groups_above(view, group);
  return above.empty() ? group.priority : above.back()->priority;
}

bool is_tied_to_node(const client::View& view, const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  return (owner && owner->kind == "DaemonSet") || pod.node_selector.contains(api::kHostnameLabel) ||
         (pod.required_node_affinity && names_nodes(*pod.required_node_affinity)) ||
         has_local_volume(view, pod);
}

Time start_of(const api::Pod& pod) {
  return pod.started.is_set() ? pod.started : Time::from_micros(INT64_MAX);
}

void remove_victim(const model::Cluster& cluster, PodId pod, model::GroupClaims group_claims,
                   model::Ledger::Transaction& transaction) {
  const model::PodCharge& charge = cluster.ledger().charge(pod);
  const NodeId node = charge.node;
  const bool shares = charge.gpu_share != nullptr;
  cluster.remove(pod, group_claims, transaction);
  if (!shares || !node.valid()) return;
  const std::vector<PodId> left = cluster.ledger().node(node).pods;
  for (const PodId id : left)
    if (const auto& live = cluster.pod(id).live; live && holds_gpu_alone(cluster.ledger().node(node), *live))
      cluster.remove(id, group_claims, transaction);
}

bool is_idle(const SchedulingContext& context, model::ClaimId claim, std::int64_t priority) {
  const model::Cluster& cluster = context.cluster;
  const model::ClaimRow& row = cluster.claim(claim);
  if (!row.live || cluster.ledger().users(claim) > 0) return false;
  if (row.late.allocation) return true;
  if (!row.live->allocation) return false;
  return std::ranges::none_of(row.live->reserved_for, [&](const api::ClaimConsumer& consumer) {
    if (api::is_group(consumer)) {
      const api::PodGroup* group = context.view.pod_groups.find(row.key.ns, consumer.name);
      return group && group->meta.uid == consumer.uid && priority_of(context.view, *group) >= priority;
    }
    const PodId pod = cluster.find_pod(row.key.ns, consumer.name);
    const auto& live = pod.valid() ? cluster.pod(pod).live : nullptr;
    return live && live->meta.uid == consumer.uid && !live->finished();
  });
}

int turn_of(const VictimUnit& unit) {
  return unit.ends_soon ? 3 : unit.tied ? 0 : unit.refused ? 1 : 2;
}

bool more_important(const model::Cluster& cluster, const VictimUnit& a, const VictimUnit& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.lost != b.lost) return a.lost > b.lost;
  if (a.of_group != b.of_group) return a.of_group;
  if (a.pods.size() != b.pods.size()) return a.pods.size() > b.pods.size();
  if (a.started != b.started) return a.started < b.started;
  if (a.pods.empty()) return a.claim < b.claim;
  return cluster.pod(a.pods.front()).key < cluster.pod(b.pods.front()).key;
}

}  // namespace berth::placement
