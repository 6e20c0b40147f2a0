// NodeAffinity, the score: the weights of the preferred terms that a node matches, those of the plugin's
// addedAffinity too.
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

std::int64_t weight_of(const std::vector<api::NodePreference>& preferences, const api::Node& node) {
  std::int64_t sum = 0;
  for (const api::NodePreference& one : preferences)
    if (one.weight != 0 && api::matches(one.nodes, node.meta.labels, node.meta.name)) sum += one.weight;
  return sum;
}

class NodePreferenceScore final : public NormalizedScore {
 public:
  explicit NodePreferenceScore(NodeAffinityArguments arguments) : arguments_(std::move(arguments)) {}

  std::string_view name() const override { return "NodeAffinity"; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const std::vector<api::NodePreference>& preferences = query.pod->preferred_nodes;
    if (preferences.empty() || !signature.begin("NodePreference")) return Signing::Signed;
    signature.put(preferences.size());
    for (const api::NodePreference& one : preferences) {
      signature.put(static_cast<std::uint64_t>(one.weight));
      signature.put(one.nodes);
    }
    return Signing::Signed;
  }
  std::optional<Comparison> compare(const PodQuery& query) const override {
    const std::vector<api::NodePreference>& own = query.pod->preferred_nodes;
    if (own.empty() && arguments_.added_preferences.empty()) return std::nullopt;
    const model::Cluster& cluster = query.context->cluster;
    Comparison comparison;
    comparison.values.push_back({[this, &own, &cluster](NodeId node) {
      const api::Node& live = *cluster.node(node).live;
      return weight_of(own, live) + weight_of(arguments_.added_preferences, live);
    }});
    comparison.normalize = share_of_largest;
    return comparison;
  }

 private:
  const NodeAffinityArguments arguments_;
};

}  // namespace

std::unique_ptr<NormalizedScore> node_preference(const NodeAffinityArguments& arguments) {
  return std::make_unique<NodePreferenceScore>(arguments);
}

}  // namespace berth::placement::plugins
