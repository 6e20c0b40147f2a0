// PodTopologySpread with whenUnsatisfiable: DoNotSchedule: refuses the domains that already run more of the
// pods that a constraint selects than it allows, compared with the domain that runs fewest. Source:
// kube-scheduler's plugin; KEP-895, KEP-3022 (minDomains), KEP-3094 (inclusion policies), KEP-3243
// (matchLabelKeys).
#include "placement/plugins/plugins.h"
#include "placement/plugins/spread.h"

namespace berth::placement::plugins {
namespace {

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

class PodTopologySpread final : public DomainFilter {
 public:
  explicit PodTopologySpread(const TopologySpreadArguments& arguments) : defaults_(arguments.required) {}

  std::string_view name() const override { return kPodTopologySpread; }
  QueueingHint events_to_register() const override {
    QueueingHint hint{kEventNodeAdded | kEventNodeChanged | kEventPodGone | kEventPodPlaced |
                      kEventPodRelabelled | kEventSelectorChanged};
    if (defaults_.empty()) hint.applies = [](const api::Pod& pod) { return !pod.required_spread.empty(); };
    return hint;
  }
  // Pods of the kind that leave, pods that come where fewest are, and nodes that count or no longer do.
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    const SpreadGroup group = group_of(query);
    const std::string& ns = query.pod->meta.ns;
    for (const api::SpreadConstraint& one : group.constraints)
      for (const std::string& post : posts_of(group, one)) {
        hints.add(kEventPodGone | kEventPodRelabelled, {{facts::pod_left(ns, post)}});
        hints.add(kEventPodPlaced | kEventPodRelabelled, {{facts::pod_came(ns, post)}});
      }
    if (group.replicas) hints.events |= kEventSelectorChanged;
    hints.add(kEventNodeAdded | kEventNodeChanged, {{facts::labels_changed()}});
    hints.add(kEventNodeChanged, {{facts::taints_changed()}});
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const SpreadGroup group = group_of(query);
    if (!group.constraints.empty()) sign_spread(*query.pod, group, kPodTopologySpread, signature);
    return Signing::Signed;
  }
  void add_rules(const PodQuery& query, std::vector<DomainRule>& rules) const override {
    const SpreadGroup group = group_of(query);
    for (const api::SpreadConstraint& one : group.constraints) rules.push_back(rule_of(query, group, one));
  }

 private:
  // The pod's own constraints, or those of the profile for a pod without any.
  SpreadGroup group_of(const PodQuery& query) const {
    const api::Pod& pod = *query.pod;
    if (!pod.required_spread.empty() || !pod.preferred_spread.empty()) return {pod.required_spread};
    const model::ReplicaSelectorPtr& replicas = query.slots.read<DefaultSpread>().replicas;
    if (!replicas) return {};
    return {defaults_, true, replicas};
  }
  static std::vector<std::string> posts_of(const SpreadGroup& group,
                                           const api::SpreadConstraint& constraint) {
    if (!group.replicas) return facts::posts_of(constraint.pods);
    const bool by_labels = !group.replicas->labels.selects_everything();
    return facts::posts_of(by_labels ? group.replicas->labels : *group.replicas->controller);
  }
  // `constraint` is one of the group's.
  static DomainRule rule_of(const PodQuery& query, const SpreadGroup& group,
                            const api::SpreadConstraint& constraint) {
    const api::Pod& pod = *query.pod;
    const model::Cluster& cluster = query.context->cluster;
    DomainRule rule;
    rule.topology_key = constraint.topology_key;
    rule.amount_bytes = spread_bytes(pod, group, constraint);
    rule.amount = [&pod, &cluster, group, &constraint](NodeId node) -> std::optional<std::int64_t> {
      if (!is_included(pod, group, constraint, *cluster.node(node).live)) return std::nullopt;
      return selected_on(node, pod, group, constraint, cluster);
    };
    const std::int64_t own = group.counts(constraint, pod.meta.labels) ? 1 : 0;
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

  const std::vector<api::SpreadConstraint> defaults_;
};

}  // namespace

std::unique_ptr<DomainFilter> pod_topology_spread(const TopologySpreadArguments& arguments) {
  return std::make_unique<PodTopologySpread>(arguments);
}

}  // namespace berth::placement::plugins
