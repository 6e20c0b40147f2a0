#include "placement/plugins/spread.h"

#include <algorithm>

#include "placement/plugins/node_inclusion.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

void put_replicas(const SpreadGroup& group, PodSignature& bytes) {
  bytes.put(group.replicas ? 1u : 0u);
  if (!group.replicas) return;
  static const api::LabelSelector kAny;
  bytes.put(group.replicas->labels);
  bytes.put(group.replicas->controller ? *group.replicas->controller : kAny);
}

class DefaultSpreadRead final : public PreFilter {
 public:
  explicit DefaultSpreadRead(const TopologySpreadArguments& arguments)
      : has_defaults_(arguments.system_defaults || !arguments.required.empty() ||
                      !arguments.preferred.empty()) {}

  std::string_view name() const override { return kPodTopologySpread; }
  void prepare(PodQuery& query, Diagnosis&) const override {
    const api::Pod& pod = *query.pod;
    if (has_defaults_ && pod.required_spread.empty() && pod.preferred_spread.empty())
      query.slots.write<DefaultSpread>().replicas =
          query.context->cluster.replica_selectors().selector_of(pod);
  }

 private:
  const bool has_defaults_;
};

}  // namespace

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
  if (!group.replicas && constraint.pods.selects_everything()) return 0;
  const std::vector<PodId>& pods = cluster.ledger().node(node).pods;
  return std::count_if(pods.begin(), pods.end(), [&](PodId id) {
    const std::shared_ptr<const api::Pod>& other = cluster.pod(id).live;
    return other && !other->meta.deleting() && other->meta.ns == pod.meta.ns &&
           group.counts(constraint, other->meta.labels);
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
  put_replicas(group, bytes);
  bytes.put(constraint.pods);
  return bytes.bytes();
}

void sign_spread(const api::Pod& pod, const SpreadGroup& group, std::string_view fragment,
                 PodSignature& signature) {
  sign_node_affinity(pod, signature);
  sign_tolerations(pod, signature);
  if (!signature.begin(fragment)) return;
  signature.put(pod.meta.ns);
  put_replicas(group, signature);
  signature.put(group.constraints.size());
  for (const api::SpreadConstraint& one : group.constraints) {
    signature.put(one.topology_key);
    signature.put(static_cast<std::uint64_t>(one.max_skew));
    signature.put(static_cast<std::uint64_t>(one.min_domains));
    signature.put((one.honors_affinity ? 1u : 0u) + (one.honors_taints ? 2u : 0u) +
                  (group.counts(one, pod.meta.labels) ? 4u : 0u));
    signature.put(one.pods);
  }
}

std::unique_ptr<PreFilter> default_spread(const TopologySpreadArguments& arguments) {
  return std::make_unique<DefaultSpreadRead>(arguments);
}

}  // namespace berth::placement::plugins
