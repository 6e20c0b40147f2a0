// TaintToleration: refuses nodes with a NoSchedule or NoExecute taint that the pod does not tolerate. No
// filter reads the Ready condition; the node's taint stands for it.
#include <algorithm>

#include "placement/plugins/node_inclusion.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

bool keeps_pods_away(const api::Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

class TaintToleration final : public Filter {
 public:
  std::string_view name() const override { return "TaintToleration"; }
  QueueingHint events_to_register() const override { return {kEventNodeAdded | kEventNodeChanged}; }
  // A node without such taints helps every pod; with some, those that tolerate one of them by its key.
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    const std::uint32_t events = kEventNodeAdded | kEventNodeChanged;
    hints.add(events, {{none_left()}});
    for (const api::Toleration& one : query.pod->tolerations) hints.add(events, {{left(one.key)}});
  }
  void add_facts(const ClusterChange& change, ChangeFacts& facts) const override {
    if (!change.node_after || (change.node_before && !change.taints_changed())) return;
    const std::vector<api::Taint>& taints = change.node_after->taints;
    const auto hard = std::ranges::find_if(taints, keeps_pods_away);
    if (hard == taints.end()) return facts.add(none_left());
    facts.add(left(hard->key));
    facts.add(left(""));  // a toleration of all keys
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_tolerations(*query.pod, signature);
    return Signing::Signed;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    verdicts.keep_if(reason_row("UntoleratedTaint"), [&](NodeId node) {
      const model::NodeRow& row = query.context->cluster.node(node);
      return !row.tainted || tolerates_taints(*query.pod, *row.live);
    });
  }

 private:
  static FactId none_left() { return fact_id({"taints", "none"}); }
  static FactId left(std::string_view key) { return fact_id({"taints", "left", key}); }
};

}  // namespace

bool tolerates_taints(const api::Pod& pod, const api::Node& node) {
  return std::all_of(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
    return !keeps_pods_away(taint) || api::tolerates(pod.tolerations, taint);
  });
}

std::unique_ptr<Filter> taint_toleration() {
  return std::make_unique<TaintToleration>();
}

}  // namespace berth::placement::plugins
