// NodeUnschedulable: refuses cordoned nodes unless the pod tolerates their taint.
#include "api/node_names.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class NodeUnschedulable final : public Filter {
 public:
  std::string_view name() const override { return "NodeUnschedulable"; }
  QueueingHint events_to_register() const override { return {kEventNodeAdded | kEventNodeChanged}; }
  void add_hints(const PodQuery&, const FitError&, PodHints& hints) const override {
    hints.add(kEventNodeAdded | kEventNodeChanged, {{fact_id({name()})}});
  }
  void add_facts(const ClusterChange& change, ChangeFacts& facts) const override {
    const bool was_open = change.node_before && !change.node_before->unschedulable;
    if (change.node_after && !change.node_after->unschedulable && !was_open) facts.add(fact_id({name()}));
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_tolerations(*query.pod, signature);
    return Signing::Signed;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    if (tolerates_cordons(*query.pod)) return;
    verdicts.keep_if(reason_row("NodeUnschedulable"),
                     [&](NodeId node) { return !query.context->cluster.node(node).unschedulable; });
  }

 private:
  static bool tolerates_cordons(const api::Pod& pod) {
    if (pod.tolerations.empty()) return false;
    const api::Taint cordon{std::string(api::kUnschedulableTaint), "", "NoSchedule", {}};
    return api::tolerates(pod.tolerations, cordon);
  }
};

}  // namespace

std::unique_ptr<Filter> node_unschedulable() {
  return std::make_unique<NodeUnschedulable>();
}

}  // namespace berth::placement::plugins
