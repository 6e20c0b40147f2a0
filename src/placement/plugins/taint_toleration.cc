// TaintToleration: refuses nodes with a NoSchedule or NoExecute taint that the pod does not tolerate. No
// filter reads the Ready condition; the node's taint stands for it.
#include <algorithm>

#include "placement/plugins/node_inclusion.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class TaintToleration final : public Filter {
 public:
  std::string_view name() const override { return "TaintToleration"; }
  QueueingHint events_to_register() const override { return {kEventNodeAdded | kEventNodeChanged}; }
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
};

}  // namespace

bool tolerates_taints(const api::Pod& pod, const api::Node& node) {
  return std::all_of(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
    return (taint.effect != "NoSchedule" && taint.effect != "NoExecute") ||
           api::tolerates(pod.tolerations, taint);
  });
}

std::unique_ptr<Filter> taint_toleration() {
  return std::make_unique<TaintToleration>();
}

}  // namespace berth::placement::plugins
