#include "placement/plugins/spread.h"

#include <algorithm>
#include <array>

#include "placement/plugins/node_inclusion.h"

namespace berth::placement::plugins {
namespace {

struct SpreadingController {
  std::string_view api_version, kind;
};
constexpr auto kSpreadingControllers = std::to_array<SpreadingController>(
    {{"v1", "ReplicationController"}, {"apps/v1", "ReplicaSet"}, {"apps/v1", "StatefulSet"}});

bool counts(const api::Pod& other, const SpreadGroup& group, const api::SpreadConstraint& constraint) {
  if (group.controller.empty()) return constraint.pods.matches(other.meta.labels);
  const api::OwnerReference* owner = other.meta.controller();
  return owner && owner->uid == group.controller;
}

}  // namespace

std::string_view spreading_controller(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  if (!owner) return {};
  const bool spreads = std::any_of(
      kSpreadingControllers.begin(), kSpreadingControllers.end(),
      [&](auto& one) { return one.api_version == owner->api_version && one.kind == owner->kind; });
  return spreads ? std::string_view(owner->uid) : std::string_view();
}

bool is_included(const api::Pod& pod, const SpreadGroup& group, const api::SpreadConstraint& constraint,
                 const api::Node& node) {
  const auto labelled = [&](const auto& one) { return node.meta.labels.contains(one.topology_key); };
  return (!group.all_labels || std::all_of(group.constraints.begin(), group.constraints.end(), labelled)) &&
         (!constraint.honors_affinity || matches_node_affinity(pod, node)) &&
         (!constraint.honors_taints || tolerates_taints(pod, node));
}

// Source: kube-scheduler counts nothing for a selector without requirements, and no pod that is being
// deleted.
std::int64_t selected_on(NodeId node, const api::Pod& pod, const SpreadGroup& group,
                         const api::SpreadConstraint& constraint, const model::Cluster& cluster) {
  if (group.controller.empty() && constraint.pods.selects_everything()) return 0;
  const std::vector<PodId>& pods = cluster.ledger().node(node).pods;
  return std::count_if(pods.begin(), pods.end(), [&](PodId id) {
    const std::shared_ptr<const api::Pod>& other = cluster.pod(id).live;
    return other && !other->meta.deleting() && other->meta.ns == pod.meta.ns &&
           counts(*other, group, constraint);
  });
}

std::string spread_bytes(const api::Pod& pod, const SpreadGroup& group,
                         const api::SpreadConstraint& constraint) {
  PodSignature bytes;
  if (constraint.honors_affinity) sign_node_affinity(pod, bytes);
  if (constraint.honors_taints) sign_tolerations(pod, bytes);
  bytes.begin(kPodTopologySpread);
  bytes.put(pod.meta.ns);
  bytes.put(group.all_labels ? group.constraints.size() : 0u);
  for (const api::SpreadConstraint& one : group.constraints)
    if (group.all_labels) bytes.put(one.topology_key);
  bytes.put(group.controller);
  bytes.put(constraint.pods);
  return bytes.bytes();
}

void sign_spread(const api::Pod& pod, const SpreadGroup& group, std::string_view fragment,
                 PodSignature& signature) {
  sign_node_affinity(pod, signature);
  sign_tolerations(pod, signature);
  if (!signature.begin(fragment)) return;
  signature.put(pod.meta.ns);
  signature.put(group.controller);
  signature.put(group.constraints.size());
  for (const api::SpreadConstraint& one : group.constraints) {
    signature.put(one.topology_key);
    signature.put(static_cast<std::uint64_t>(one.max_skew));
    signature.put(static_cast<std::uint64_t>(one.min_domains));
    signature.put((one.honors_affinity ? 1u : 0u) + (one.honors_taints ? 2u : 0u) +
                  (one.pods.matches(pod.meta.labels) ? 4u : 0u));
    signature.put(one.pods);
  }
}

}  // namespace berth::placement::plugins
