// TaintToleration, the score: prefers nodes with fewer PreferNoSchedule taints that the pod does not
// tolerate.
#include <algorithm>

#include "placement/plugins/node_inclusion.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class TaintTolerationScore final : public NormalizedScore {
 public:
  std::string_view name() const override { return "TaintToleration"; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_tolerations(*query.pod, signature);
    if (wanted(query)) signature.begin("SoftTaints");
    return Signing::Signed;
  }
  std::optional<Comparison> compare(const PodQuery& query) const override {
    if (!wanted(query)) return std::nullopt;
    const api::Pod& pod = *query.pod;
    const model::Cluster& cluster = query.context->cluster;
    Comparison comparison;
    comparison.values.push_back(
        {[&](NodeId node) { return untolerated_soft_taints(pod, *cluster.node(node).live); }});
    comparison.normalize = share_of_largest_reversed;
    return comparison;
  }
  std::int64_t score_of_all() const override { return kNodeScoreMax; }

 private:
  static bool wanted(const PodQuery& query) {
    return query.context->cluster.node_traits().softly_tainted() > 0;
  }
};

}  // namespace

std::int64_t untolerated_soft_taints(const api::Pod& pod, const api::Node& node) {
  return std::count_if(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
    return taint.effect == "PreferNoSchedule" && !api::tolerates(pod.tolerations, taint);
  });
}

std::unique_ptr<NormalizedScore> taint_toleration_score() {
  return std::make_unique<TaintTolerationScore>();
}

}  // namespace berth::placement::plugins
