// PodCycle and SignatureCache without a scheduler, for tests with their own plugins.
#pragma once

#include <memory>
#include <string>

#include "placement/fake_selectors.h"
#include "placement/index/signature_cache.h"
#include "placement/refusal/kubernetes_words.h"

namespace berth::placement {

class PluginBench {
 public:
  // `resource`: of Kind::Other.
  void put(api::Kind kind, const std::string& text, const api::ResourceRef& resource = {}) {
    Json object = *parse_json(text);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    auto typed = api::decode_typed(kind, std::make_shared<const std::string>(to_string(object)));
    const api::ObjectMeta& meta = api::meta_of(*typed);
    cluster.apply(*view.put({kind, meta.ns, meta.name, resource}, *typed));
  }
  void erase(api::Kind kind, const std::string& ns, const std::string& name,
             const api::ResourceRef& resource = {}) {
    if (const auto delta = view.erase({kind, ns, name, resource}, ++version_)) cluster.apply(*delta);
  }
  // `labels`: members of metadata.labels: "rack":"r0".
  void put_node(const std::string& name, const std::string& labels) {
    put(api::Kind::Node, R"({"metadata":{"name":")" + name + R"(","labels":{)" + labels +
                             R"(}},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"9"}}})");
  }
  // Requests one cpu. `meta`: more members of metadata: ,"annotations":{…}.
  const api::Pod& put_pod(const std::string& name, const std::string& meta = "",
                          const std::string& spec = "") {
    put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name + "\"" +
                            meta + R"(},"spec":{"containers":[{"name":"c","resources":{"requests":)" +
                            R"({"cpu":"1"}}}])" + spec + "}}");
    return *view.pods.find("ns", name);
  }
  // The node that the cached verdicts give, or Kubernetes' sentence; places nothing.
  std::string choose(const api::Pod& pod) {
    begin(pod);
    return answer(index.choose(state, {}), index);
  }
  // The same, with every node judged again.
  std::string choose_anew(const api::Pod& pod) {
    begin(pod);
    const std::vector<NodeId>& nodes = domains.nodes(cluster);
    return answer(pods.prepare(state) ? pods.choose(state, nodes, {}) : NodeId::none(), pods);
  }
  void begin(const api::Pod& pod) { pods.begin(state, context, pod, nullptr); }

  client::View view;
  FakeSelectors selectors;
  SeededRandom random{1};
  model::Cluster cluster{model::NodeAllocatable::Ignored};
  dra::Allocator allocator{cluster, selectors, random};
  SchedulingContext context{view, cluster, allocator};
  Profiles profiles{default_plugins()};
  PluginSet& plugins = profiles.first();
  DomainIndex domains;
  PodCycle pods{profiles, domains};
  SignatureCache index{pods, domains};
  CycleState state;

 private:
  template <class From>
  std::string answer(NodeId node, From& from) {
    if (node.valid()) return cluster.node(node).name;
    return fit_sentence(from.fit_error(state), cluster.live_nodes().size());
  }
  std::uint64_t version_ = 0;
};

// Counts the nodes that filters judge.
class JudgedNodes final : public Filter {
 public:
  // Lives as long as the bench.
  static const JudgedNodes& add_to(PluginBench& bench) {
    auto counter = std::make_unique<JudgedNodes>();
    const JudgedNodes& judged = *counter;
    bench.plugins.filters.push_back(std::move(counter));
    return judged;
  }
  std::string_view name() const override { return "JudgedNodes"; }
  Signing sign(const PodQuery&, PodSignature&) const override { return Signing::Signed; }
  void filter(const PodQuery&, NodeVerdicts& verdicts) const override {
    judged += verdicts.candidates.size();
  }
  mutable std::size_t judged = 0;
};

// n100 to n399, a hundred in each of the zones z0, z1 and z2, each a host.
inline void put_300_nodes(PluginBench& bench) {
  for (int i = 0; i < 300; ++i) {
    const std::string n = std::to_string(100 + i);
    bench.put_node("n" + n, R"("zone":"z)" + std::to_string(i / 100) + R"(","host":")" + n + "\"");
  }
}

}  // namespace berth::placement
