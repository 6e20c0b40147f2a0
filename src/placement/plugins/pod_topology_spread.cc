// PodTopologySpread with whenUnsatisfiable: DoNotSchedule: refuses the domains that already run more of the
// pods that a constraint selects than it allows, compared with the domain that runs fewest. Source:
// kube-scheduler's plugin; KEP-895, KEP-3022 (minDomains), KEP-3094 (inclusion policies), KEP-3243
// (matchLabelKeys).
#include <algorithm>

#include "placement/plugins/node_inclusion.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

constexpr std::string_view kPodTopologySpread = "PodTopologySpread";

constexpr Reason kSkewTooLarge = {"SkewTooLarge",
                                  kPodTopologySpread,
                                  "node(s) didn't match pod topology spread constraints",
                                  "is in a domain that runs too many of the pod's kind already",
                                  "are in domains that run too many of the pod's kind already",
                                  FilterStatus::Unschedulable};
constexpr Reason kNoTopologyLabel = {
    "NoTopologyLabel", kPodTopologySpread,
    "node(s) didn't match pod topology spread constraints (missing required label)",
    "has no label of a topology key that the pod is spread over",
    "have no label of a topology key that the pod is spread over"};

bool is_selected(const api::SpreadConstraint& constraint, const api::Pod& pod) {
  return constraint.pods.matches(pod.meta.labels);
}

class PodTopologySpread final : public DomainFilter {
 public:
  std::string_view name() const override { return kPodTopologySpread; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventNodeChanged | kEventPodGone | kEventPodPlaced | kEventPodRelabelled,
            [](const api::Pod& pod) { return !pod.required_spread.empty(); }};
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const api::Pod& pod = *query.pod;
    if (pod.required_spread.empty()) return Signing::Signed;
    sign_node_affinity(pod, signature);
    sign_tolerations(pod, signature);
    if (!signature.begin(kPodTopologySpread)) return Signing::Signed;
    signature.put(pod.meta.ns);
    signature.put(pod.required_spread.size());
    for (const api::SpreadConstraint& one : pod.required_spread) {
      signature.put(one.topology_key);
      signature.put(static_cast<std::uint64_t>(one.max_skew));
      signature.put(static_cast<std::uint64_t>(one.min_domains));
      signature.put((one.honors_affinity ? 1u : 0u) + (one.honors_taints ? 2u : 0u) +
                    (is_selected(one, pod) ? 4u : 0u));
      signature.put(one.pods);
    }
    return Signing::Signed;
  }
  void add_rules(const PodQuery& query, std::vector<DomainRule>& rules) const override {
    for (const api::SpreadConstraint& one : query.pod->required_spread) rules.push_back(rule_of(query, one));
  }

 private:
  static DomainRule rule_of(const PodQuery& query, const api::SpreadConstraint& constraint) {
    const api::Pod& pod = *query.pod;
    const model::Cluster& cluster = query.context->cluster;
    DomainRule rule;
    rule.topology_key = constraint.topology_key;
    rule.amount_bytes = amount_bytes(pod, constraint);
    rule.amount = [&pod, &cluster, &constraint](NodeId node) -> std::optional<std::int64_t> {
      if (!is_included(pod, constraint, *cluster.node(node).live)) return std::nullopt;
      return selected_on(node, pod, constraint, cluster);
    };
    const std::int64_t own = is_selected(constraint, pod) ? 1 : 0;
    rule.accepted = [&constraint, own](const DomainTotals& totals) {
      const bool few = static_cast<std::int64_t>(totals.domains) < constraint.min_domains;
      AmountRange range;
      range.most = (few ? 0 : totals.least.value_or(0)) + constraint.max_skew - own;
      return range;
    };
    rule.labelled_only = true;
    rule.no_label = &kNoTopologyLabel;
    rule.refused = &kSkewTooLarge;
    return rule;
  }
  static std::string amount_bytes(const api::Pod& pod, const api::SpreadConstraint& constraint) {
    PodSignature bytes;
    if (constraint.honors_affinity) sign_node_affinity(pod, bytes);
    if (constraint.honors_taints) sign_tolerations(pod, bytes);
    bytes.begin(kPodTopologySpread);
    bytes.put(pod.meta.ns);
    bytes.put(pod.required_spread.size());
    for (const api::SpreadConstraint& one : pod.required_spread) bytes.put(one.topology_key);
    bytes.put(constraint.pods);
    return bytes.bytes();
  }
  static bool is_included(const api::Pod& pod, const api::SpreadConstraint& constraint,
                          const api::Node& node) {
    return std::all_of(pod.required_spread.begin(), pod.required_spread.end(),
                       [&](const auto& one) { return node.meta.labels.contains(one.topology_key); }) &&
           (!constraint.honors_affinity || matches_node_affinity(pod, node)) &&
           (!constraint.honors_taints || tolerates_taints(pod, node));
  }
  // Source: kube-scheduler counts nothing for a selector without requirements, and no pod that is being
  // deleted.
  static std::int64_t selected_on(NodeId node, const api::Pod& pod, const api::SpreadConstraint& constraint,
                                  const model::Cluster& cluster) {
    if (constraint.pods.selects_everything()) return 0;
    const std::vector<PodId>& pods = cluster.ledger().node(node).pods;
    return std::count_if(pods.begin(), pods.end(), [&](PodId id) {
      const std::shared_ptr<const api::Pod>& other = cluster.pod(id).live;
      return other && !other->meta.deleting() && other->meta.ns == pod.meta.ns &&
             is_selected(constraint, *other);
    });
  }
};

}  // namespace

std::unique_ptr<DomainFilter> pod_topology_spread() {
  return std::make_unique<PodTopologySpread>();
}

}  // namespace berth::placement::plugins
