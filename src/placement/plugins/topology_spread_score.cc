// PodTopologySpread, the score: prefers domains that run fewer of the pods that a constraint with
// whenUnsatisfiable: ScheduleAnyway selects. A pod without constraints, which a Service or its controller
// selects, is spread over hosts and zones (kube-scheduler's System defaults). Source: kube-scheduler's
// plugin, with its arithmetic.
#include <algorithm>
#include <array>
#include <cmath>

#include "api/node_names.h"
#include "placement/plugins/plugins.h"
#include "placement/plugins/spread.h"

namespace berth::placement::plugins {
namespace {

constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::int64_t kNoLabel = -1;  // in the column of a constraint over hosts

bool is_over_hosts(const api::SpreadConstraint& constraint) {
  return constraint.topology_key == api::kHostnameLabel;
}

api::SpreadConstraint default_constraint(std::string_view key, std::int64_t max_skew) {
  api::SpreadConstraint constraint;
  constraint.topology_key = key;
  constraint.max_skew = max_skew;
  return constraint;
}

// The classes of nodes as the constraints see them. Column i is of constraint i; domain i of the i-th
// constraint that is not over hosts.
class SpreadClasses {
 public:
  SpreadClasses(const SpreadGroup& group, const ComparedNodes& compared)
      : group_(group), compared_(compared) {}

  // Not compared: a label is missing that all nodes need.
  bool ignored(std::size_t at) const {
    if (!group_.all_labels) return false;
    std::size_t domain = 0;
    for (std::size_t i = 0; i < group_.constraints.size(); ++i)
      if (!has_label(at, i, domain)) return true;
    return false;
  }
  void set_scores(std::span<std::int64_t> scores) const {
    const std::vector<double> weights = weights_of_constraints();
    std::int64_t least = INT64_MAX, most = 0;
    for (std::size_t at = 0; at < compared_.size(); ++at) {
      if (ignored(at)) continue;
      scores[at] = sum(at, weights);
      least = std::min(least, scores[at]);
      most = std::max(most, scores[at]);
    }
    for (std::size_t at = 0; at < compared_.size(); ++at) {
      if (ignored(at))
        scores[at] = 0;
      else
        scores[at] = most == 0 ? kNodeScoreMax : kNodeScoreMax * (most + least - scores[at]) / most;
    }
  }

 private:
  // `domain`: of the constraint, then of the next one.
  bool has_label(std::size_t at, std::size_t constraint, std::size_t& domain) const {
    if (is_over_hosts(group_.constraints[constraint])) return compared_.value(at, constraint) != kNoLabel;
    return compared_.domain(at, domain++).valid();
  }
  // Domains without the label are one, too, where not all nodes need it.
  std::size_t domains(std::size_t domain) const {
    std::vector<std::uint32_t> ids;
    for (std::size_t at = 0; at < compared_.size(); ++at)
      if (!ignored(at)) ids.push_back(compared_.domain(at, domain).index());
    std::sort(ids.begin(), ids.end());
    return static_cast<std::size_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
  }
  std::size_t hosts() const {
    std::size_t count = 0;
    for (std::size_t at = 0; at < compared_.size(); ++at) count += ignored(at) ? 0 : compared_.nodes(at);
    return count;
  }
  std::vector<double> weights_of_constraints() const {
    std::vector<double> weights;
    std::size_t domain = 0;
    for (const api::SpreadConstraint& one : group_.constraints) {
      const std::size_t size = is_over_hosts(one) ? hosts() : domains(domain++);
      weights.push_back(std::log(static_cast<double>(size + 2)));
    }
    return weights;
  }
  std::int64_t sum(std::size_t at, std::span<const double> weights) const {
    double total = 0;
    std::size_t domain = 0;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (has_label(at, i, domain))
        total += static_cast<double>(compared_.value(at, i)) * weights[i] +
                 static_cast<double>(group_.constraints[i].max_skew - 1);
    return static_cast<std::int64_t>(std::round(total));
  }

  const SpreadGroup& group_;
  const ComparedNodes& compared_;
};

class TopologySpreadScore final : public NormalizedScore {
 public:
  explicit TopologySpreadScore(const TopologySpreadArguments& arguments)
      : system_(arguments.system_defaults), defaults_(arguments.preferred) {
    if (system_) defaults_ = {default_constraint(api::kHostnameLabel, 3), default_constraint(kZone, 5)};
  }

  std::string_view name() const override { return kPodTopologySpread; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    if (const auto group = group_of(query)) sign_spread(*query.pod, *group, "SpreadScore", signature);
    return Signing::Signed;
  }
  std::optional<Comparison> compare(const PodQuery& query) const override {
    const auto group = group_of(query);
    if (!group) return std::nullopt;
    Comparison comparison;
    comparison.columns = group->constraints.size();
    for (std::size_t i = 0; i < comparison.columns; ++i)
      if (is_over_hosts(group->constraints[i]))
        comparison.values.push_back({pods_on(query, *group, i), i});
      else
        comparison.domains.push_back({pods_in(query, *group, i), i, true});
    comparison.normalize = [group = *group](const ComparedNodes& compared, std::span<std::int64_t> scores) {
      SpreadClasses(group, compared).set_scores(scores);
    };
    return comparison;
  }

 private:
  // None: nothing spreads the pod.
  std::optional<SpreadGroup> group_of(const PodQuery& query) const {
    if (!query.pod->preferred_spread.empty()) return SpreadGroup{query.pod->preferred_spread};
    const model::ReplicaSelectorPtr& replicas = query.slots.read<DefaultSpread>().replicas;
    if (!replicas || defaults_.empty()) return std::nullopt;
    return SpreadGroup{defaults_, !system_, replicas};
  }
  // Hosts are nodes, whatever their labels say, and the constraint's policies exclude none.
  static std::function<std::int64_t(NodeId)> pods_on(const PodQuery& query, const SpreadGroup& group,
                                                     std::size_t constraint) {
    return [&pod = *query.pod, &cluster = std::as_const(query.context->cluster), group,
            constraint](NodeId node) -> std::int64_t {
      if (!cluster.node(node).live->meta.labels.contains(api::kHostnameLabel)) return kNoLabel;
      return selected_on(node, pod, group, group.constraints[constraint], cluster);
    };
  }
  static DomainCount pods_in(const PodQuery& query, const SpreadGroup& group, std::size_t constraint) {
    DomainCount count;
    count.topology_key = group.constraints[constraint].topology_key;
    count.amount_bytes = spread_bytes(*query.pod, group, group.constraints[constraint]);
    count.amount = [&pod = *query.pod, &cluster = std::as_const(query.context->cluster), group,
                    constraint](NodeId node) -> std::optional<std::int64_t> {
      const api::SpreadConstraint& one = group.constraints[constraint];
      if (!is_included(pod, group, one, *cluster.node(node).live)) return std::nullopt;
      return selected_on(node, pod, group, one, cluster);
    };
    count.labelled_only = true;
    return count;
  }

  const bool system_;
  std::vector<api::SpreadConstraint> defaults_;
};

}  // namespace

std::unique_ptr<NormalizedScore> topology_spread_score(const TopologySpreadArguments& arguments) {
  return std::make_unique<TopologySpreadScore>(arguments);
}

}  // namespace berth::placement::plugins
