// NodeUnschedulable: refuses cordoned nodes unless the pod tolerates their taint.
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class NodeUnschedulable final : public Filter {
 public:
  std::string_view name() const override { return "NodeUnschedulable"; }
  QueueingHint events_to_register() const override { return {kEventNodeAdded | kEventNodeChanged}; }
  Signing sign(const CycleState& state, PodSignature& signature) const override {
    sign_tolerations(*state.pod, signature);
    return Signing::Signed;
  }
  void filter(CycleState& state) const override {
    const api::Taint cordon{"node.kubernetes.io/unschedulable", "", "NoSchedule", {}};
    if (api::tolerates(state.pod->tolerations, cordon)) return;
    state.keep_if(reason_row("NodeUnschedulable"),
                  [&](NodeId node) { return !state.context->cluster.node(node).unschedulable; });
  }
};

}  // namespace

std::unique_ptr<Filter> node_unschedulable() {
  return std::make_unique<NodeUnschedulable>();
}

}  // namespace berth::placement::plugins
