// NodeDeclaredFeatures: a pod whose fields need kubelet features fits only nodes that declare them.
//
// kube-scheduler runs this filter after DynamicResources. Here it runs before the search for devices, which
// costs more; a node that fails both is counted here.
#include <algorithm>

#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class NodeDeclaredFeatures final : public Filter {
 public:
  std::string_view name() const override { return "NodeDeclaredFeatures"; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventNodeChanged,
            [](const api::Pod& pod) { return !pod.required_features.empty(); }};
  }
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    hints.add(kEventNodeAdded | kEventNodeChanged, {{declared(query.pod->required_features.front())}});
  }
  void add_facts(const ClusterChange& change, ChangeFacts& facts) const override {
    if (!change.node_after) return;
    const bool same =
        change.node_before && change.node_before->declared_features == change.node_after->declared_features;
    for (const std::string& feature : change.node_after->declared_features)
      if (!same) facts.add(declared(feature));
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const std::vector<std::string_view>& features = query.pod->required_features;
    if (features.empty() || !signature.begin("RequiredFeatures")) return Signing::Signed;
    signature.put(features.size());
    for (const std::string_view feature : features) signature.put(feature);
    return Signing::Signed;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    const std::vector<std::string_view>& required = query.pod->required_features;
    if (required.empty()) return;
    verdicts.keep_if(reason_row("FeaturesNotDeclared"), [&](NodeId node) {
      const std::vector<std::string>& declared = query.context->cluster.node(node).live->declared_features;
      return std::all_of(required.begin(), required.end(), [&](std::string_view feature) {
        return std::find(declared.begin(), declared.end(), feature) != declared.end();
      });
    });
  }

 private:
  static FactId declared(std::string_view feature) { return fact_id({"feature", feature}); }
};

}  // namespace

std::unique_ptr<Filter> node_declared_features() {
  return std::make_unique<NodeDeclaredFeatures>();
}

}  // namespace berth::placement::plugins
