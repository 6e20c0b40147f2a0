// NodeName: a pod that names its node goes nowhere else.
#include "scheduling/plugins/plugins.h"

namespace berth::scheduling::plugins {
namespace {

class NodeName final : public Filter {
 public:
  std::string_view name() const override { return "NodeName"; }
  QueueingHint events_to_register() const override { return {kEventNodeAdded}; }
  Signing sign(const CycleState& state, PodSignature& signature) const override {
    if (signature.begin(name())) signature.put(state.pod->node_name);
    return Signing::Signed;
  }
  void filter(CycleState& state) const override {
    const std::string& wanted = state.pod->node_name;
    if (wanted.empty()) return;
    state.keep_if(reason_row("NodeNameMismatch"),
                  [&](NodeId node) { return state.context->cluster.node(node).name == wanted; });
  }
};

}  // namespace

std::unique_ptr<Filter> node_name() {
  return std::make_unique<NodeName>();
}

}  // namespace berth::scheduling::plugins
