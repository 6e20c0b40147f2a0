// A small cluster that changes at random, for tests that compare with a slow twin.
#pragma once

#include <rapidcheck.h>

#include <functional>
#include <optional>
#include <string>

#include "placement/plugin_bench.h"

namespace berth::placement {

inline int random_below(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}
inline bool one_in(int bound) {
  return random_below(bound) == 0;
}

// Nodes with the labels host, zone and disk, the last two not on all; pods that run; pods w0, w1, … that
// wait.
class RandomCluster {
 public:
  explicit RandomCluster(int nodes) : nodes_(nodes) {}

  static std::string node_name(int i) { return (i % 3 == 0 ? "a" : "n") + std::to_string(i); }
  // `spec`: members of spec.
  void put_node(int i, const std::string& spec = "") {
    std::string labels = R"("host":"h)" + std::to_string(i) + "\"";
    if (!one_in(6)) labels += R"(,"zone":"z)" + std::to_string(random_below(3)) + "\"";
    if (!one_in(5)) labels += R"(,"disk":"d)" + std::to_string(random_below(2)) + "\"";
    bench.put(api::Kind::Node, R"({"metadata":{"name":")" + node_name(i) + R"(","labels":{)" + labels +
                                   R"(}},"spec":{)" + spec + R"(},"status":{"allocatable":{"cpu":")" +
                                   std::to_string(1 + random_below(4)) + R"(","memory":"8Gi","pods":"9"}}})");
  }
  void erase_node() { bench.erase(api::Kind::Node, "", node_name(random_below(nodes_))); }

  static std::string labels_of_pod() {
    static const char* const kinds[] = {R"("app":"a")", R"("app":"b")", R"("app":"a","rev":"1")", ""};
    return R"("labels":{)" + std::string(kinds[random_below(4)]) + "}";
  }
  // Pod p<i> on some node. `spec`: more members of spec: ,"affinity":{…}.
  void put_placed(int i, const std::string& ns, const std::string& spec = "",
                  const std::string& phase = "Running") {
    const std::string n = std::to_string(i);
    bench.put(api::Kind::Pod, R"({"metadata":{"name":"p)" + n + R"(","namespace":")" + ns + R"(","uid":"p)" +
                                  n + "\"," + labels_of_pod() +
                                  (one_in(5) ? R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")" : "") +
                                  R"(},"spec":{"nodeName":")" + node_name(random_below(nodes_)) +
                                  R"(","containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}])" +
                                  spec + R"(},"status":{"phase":")" + phase + "\"}}");
  }
  const api::Pod& waiting(int i) const { return *bench.view.pods.find("ns", "w" + std::to_string(i)); }
  bool has_place(const api::Pod& pod) const {
    return bench.cluster.ledger().node_of(bench.cluster.find_pod("ns", pod.meta.name)).valid();
  }

  // A placement that is undone counts while it lasts. `compare` is called after each.
  void try_placing(int waiting_pods, const std::function<void()>& compare) {
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    for (int i = 0; i < 2; ++i) {
      const api::Pod& pod = waiting(random_below(waiting_pods));
      if (has_place(pod)) continue;
      bench.begin(pod);
      const NodeId node = bench.index.choose(bench.state, {});
      if (node.valid()) RC_ASSERT(bench.pods.reserve(bench.state, node, transaction).has_value());
      compare();
    }
  }

  // What the pod alone with the node gets: the first reason, or "" if the node takes it. None: filters that
  // read the node alone refuse it.
  std::optional<std::string> refusal_by(NodeId node, const api::Pod& pod) {
    bench.begin(pod);
    RC_ASSERT(bench.pods.prepare(bench.state));
    bench.state.candidates = {node};
    bench.pods.filter_only(bench.state);
    if (bench.state.candidates.empty()) return std::nullopt;
    bench.begin(pod);
    RC_ASSERT(bench.pods.prepare(bench.state));
    if (bench.pods.choose(bench.state, {&node, 1}, {}).valid()) return "";
    const FitError error = bench.pods.fit_error(bench.state);
    RC_ASSERT(!error.reasons.empty());
    return error.reasons.front().reason;
  }

  PluginBench bench;

 private:
  int nodes_;
};

}  // namespace berth::placement
