// PodTopologySpread against a slow twin that counts all pods of all nodes, after any history; the cache
// against judging every node.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "placement/test_replicas.h"

namespace berth::placement {
namespace {

constexpr const char* kSkewText = "node(s) didn't match pod topology spread constraints";
constexpr const char* kNoLabelText =
    "node(s) didn't match pod topology spread constraints (missing required label)";

// The rule as Kubernetes describes it: empty when the node is accepted.
class SlowTwin {
 public:
  SlowTwin(const model::Cluster& cluster, const api::Pod& pod) : cluster_(cluster), pod_(pod) {}

  std::string why_not(NodeId node) const {
    for (const api::SpreadConstraint& one : pod_.required_spread) {
      const api::StringMap& labels = cluster_.node(node).live->meta.labels;
      const auto value = labels.find(one.topology_key);
      if (value == labels.end()) return kNoLabelText;
      std::map<std::string, std::int64_t> counts = counts_of(one);
      std::int64_t least = counts.empty() ? 0 : counts.begin()->second;
      for (const auto& [domain, count] : counts) least = std::min(least, count);
      if (static_cast<std::int64_t>(counts.size()) < one.min_domains) least = 0;
      const std::int64_t own = one.pods.matches(pod_.meta.labels) ? 1 : 0;
      if (counts[value->second] + own - least > one.max_skew) return kSkewText;
    }
    return "";
  }

 private:
  std::map<std::string, std::int64_t> counts_of(const api::SpreadConstraint& constraint) const {
    std::map<std::string, std::int64_t> counts;
    for (const auto& [name, node] : cluster_.live_nodes()) {
      if (!is_eligible(constraint, *cluster_.node(node).live)) continue;
      std::int64_t& count =
          counts[cluster_.node(node).live->meta.labels.find(constraint.topology_key)->second];
      for (const PodId id : cluster_.ledger().node(node).pods) {
        const auto& other = cluster_.pod(id).live;
        if (other && !other->meta.deleting() && other->meta.ns == pod_.meta.ns &&
            !constraint.pods.selects_everything() && constraint.pods.matches(other->meta.labels))
          ++count;
      }
    }
    return counts;
  }
  bool is_eligible(const api::SpreadConstraint& constraint, const api::Node& node) const {
    for (const api::SpreadConstraint& one : pod_.required_spread)
      if (!node.meta.labels.contains(one.topology_key)) return false;
    if (constraint.honors_affinity)
      for (const auto& [key, value] : pod_.node_selector) {
        const auto label = node.meta.labels.find(key);
        if (label == node.meta.labels.end() || label->second != value) return false;
      }
    if (constraint.honors_taints)
      for (const api::Taint& taint : node.taints)
        if (!api::tolerates(pod_.tolerations, taint)) return false;
    return true;
  }

  const model::Cluster& cluster_;
  const api::Pod& pod_;
};

constexpr int kSpreadNodes = 14;
constexpr int kWaiting = 4;

class SpreadHistory {
 public:
  SpreadHistory() {
    for (int i = 0; i < kSpreadNodes; ++i) put_node(i);
    for (int i = 0; i < kWaiting; ++i) put_waiting(i);
  }

  void step() {
    const int i = random_below(12);
    switch (random_below(8)) {
      case 0:
        return put_node(random_below(kSpreadNodes));
      case 1:
        return cluster_.erase_node();
      case 2:
        return put_waiting(random_below(kWaiting));
      case 3:
        return cluster_.bench.erase(api::Kind::Pod, "ns", "p" + std::to_string(i));
      default:
        return cluster_.put_placed(i, i == 11 ? "other" : "ns");
    }
  }

  void compare(bool all) {
    for (int i = 0; i < kWaiting; ++i) {
      if (!all && one_in(2)) continue;
      const api::Pod& pod = cluster_.waiting(i);
      compare_with_twin(pod);
      const std::string anew = cluster_.bench.choose_anew(pod), kept = cluster_.bench.choose(pod);
      if (kept != anew) RC_LOG(pod.raw ? *pod.raw : pod.meta.name);
      RC_ASSERT(kept == anew);
    }
  }

  void try_placing() {
    cluster_.try_placing(kWaiting, [this] { compare(false); });
  }

 private:
  void put_node(int i) {
    cluster_.put_node(i, one_in(4) ? R"("taints":[{"key":"k","effect":"NoSchedule"}])" : "");
  }
  static std::string constraint() {
    static const char* const keys[] = {"zone", "host", "disk"};
    static const char* const selectors[] = {
        R"(,"labelSelector":{"matchLabels":{"app":"a"}})",
        R"(,"labelSelector":{"matchExpressions":[{"key":"app","operator":"Exists"}]})",
        R"(,"labelSelector":{})", ""};
    std::string text = R"({"maxSkew":)" + std::to_string(1 + random_below(2)) + R"(,"topologyKey":")" +
                       keys[random_below(3)] + R"(","whenUnsatisfiable":")" +
                       (one_in(6) ? "ScheduleAnyway" : "DoNotSchedule") + "\"";
    text += selectors[one_in(3) ? random_below(4) : 0];
    if (one_in(4)) text += R"(,"matchLabelKeys":["rev"])";
    if (one_in(4)) text += R"(,"minDomains":)" + std::to_string(1 + random_below(4));
    if (one_in(3)) text += R"(,"nodeAffinityPolicy":"Ignore")";
    if (one_in(3)) text += R"(,"nodeTaintsPolicy":"Honor")";
    return text + "}";
  }
  void put_waiting(int i) {
    const std::string n = std::to_string(i);
    std::string more = R"(,"topologySpreadConstraints":[)" + constraint();
    if (one_in(2)) more += "," + constraint();
    more += "]";
    if (one_in(4)) more += R"(,"nodeSelector":{"disk":"d0"})";
    if (one_in(4)) more += R"(,"tolerations":[{"operator":"Exists"}])";
    cluster_.bench.put_pod("w" + n, "," + RandomCluster::labels_of_pod(), more);
  }

  void compare_with_twin(const api::Pod& pod) {
    const SlowTwin twin(cluster_.bench.cluster, pod);
    for (const auto& [name, node] : cluster_.bench.cluster.live_nodes())
      if (const auto refusal = cluster_.refusal_by(node, pod)) RC_ASSERT(*refusal == twin.why_not(node));
  }

  RandomCluster cluster_{kSpreadNodes};
};

TEST(PodTopologySpread, EqualsASlowTwinAfterAnyHistory) {
  EXPECT_TRUE(rc::check("twin, pass and cache agree", [] {
    SpreadHistory history;
    const int steps = 5 + random_below(25);
    for (int i = 0; i < steps; ++i) {
      history.step();
      if (one_in(4))
        history.try_placing();
      else
        history.compare(false);
    }
    history.compare(true);
  }));
}

// Default constraints over zones and hosts, maxSkew 1 and 2, for pods without their own.
class DefaultSpreadHistory {
 public:
  DefaultSpreadHistory() {
    PluginArguments arguments;
    arguments.topology_spread = {false, {constraint("zone", 1), constraint("host", 2)}, {}};
    cluster_.bench.plugins = default_plugins(arguments);
    for (int i = 0; i < kSpreadNodes; ++i) cluster_.put_node(i);
    for (int i = 0; i < 4; ++i) replicas_.step();
    for (int i = 0; i < kWaiting; ++i) put_waiting(i);
  }

  void step() {
    switch (random_below(8)) {
      case 0:
        return cluster_.put_node(random_below(kSpreadNodes));
      case 1:
        return put_waiting(random_below(kWaiting));
      case 2:
      case 3:
        return replicas_.step();
      default:
        return cluster_.put_placed(random_below(12), one_in(8) ? "other" : "ns");
    }
  }

  void compare() {
    for (int i = 0; i < kWaiting; ++i) {
      const api::Pod& pod = cluster_.waiting(i);
      for (const auto& [name, node] : cluster_.bench.cluster.live_nodes())
        if (const auto refusal = cluster_.refusal_by(node, pod)) RC_ASSERT(*refusal == why_not(pod, node));
      RC_ASSERT(cluster_.bench.choose(pod) == cluster_.bench.choose_anew(pod));
    }
  }

 private:
  static api::SpreadConstraint constraint(const char* key, std::int64_t max_skew) {
    api::SpreadConstraint one;
    one.topology_key = key;
    one.max_skew = max_skew;
    return one;
  }
  void put_waiting(int i) {
    cluster_.bench.put_pod("w" + std::to_string(i),
                           "," + RandomCluster::labels_of_pod() + RandomReplicas::some_owner());
  }

  // The twin: counts the replicas on every node with both labels.
  std::string why_not(const api::Pod& pod, NodeId node) const {
    const auto counted = replicas_.counted_for(pod);
    if (!counted) return "";
    const model::Cluster& cluster = cluster_.bench.cluster;
    const auto label = [&](NodeId of, const char* key) {
      const auto found = cluster.node(of).live->meta.labels.find(key);
      return found == cluster.node(of).live->meta.labels.end() ? std::string() : found->second;
    };
    for (const auto& [key, max_skew] : {std::pair("zone", 1), std::pair("host", 2)}) {
      if (label(node, key).empty()) return kNoLabelText;
      std::map<std::string, std::int64_t> counts;
      for (const auto& [name, other] : cluster.live_nodes()) {
        if (label(other, "zone").empty() || label(other, "host").empty()) continue;
        std::int64_t& count = counts[label(other, key)];
        for (const PodId id : cluster.ledger().node(other).pods) {
          const api::Pod& one = *cluster.pod(id).live;
          if (one.meta.ns == pod.meta.ns && !one.meta.deleting() && (*counted)(one)) ++count;
        }
      }
      std::int64_t least = counts.empty() ? 0 : INT64_MAX;
      for (const auto& [domain, count] : counts) least = std::min(least, count);
      if (counts[label(node, key)] + ((*counted)(pod) ? 1 : 0) - least > max_skew) return kSkewText;
    }
    return "";
  }

  RandomCluster cluster_{kSpreadNodes};
  RandomReplicas replicas_{cluster_.bench};
};

TEST(PodTopologySpread, DefaultConstraintsEqualASlowTwinAfterAnyHistory) {
  EXPECT_TRUE(rc::check("twin, pass and cache agree", [] {
    DefaultSpreadHistory history;
    const int steps = 3 + random_below(15);
    for (int i = 0; i < steps; ++i) {
      history.step();
      history.compare();
    }
  }));
}

constexpr const char* kByZone =
    R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
    R"("labelSelector":{"matchLabels":{"app":"x"}}}])";

TEST(PodTopologySpread, SaysWhatKubernetesSays) {
  PluginBench bench;
  bench.put_node("n1", R"("zone":"a")");
  bench.put_node("n2", R"("zone":"b")");
  bench.put(api::Kind::Node, R"({"metadata":{"name":"n2","labels":{"zone":"b"}},"status":{"allocatable":{)"
                             R"("cpu":"0","memory":"8Gi","pods":"9"}}})");
  bench.put_pod("first", R"(,"labels":{"app":"x"})", R"(,"nodeName":"n1")");
  const api::Pod& pod = bench.put_pod("second", R"(,"labels":{"app":"x"})", kByZone);
  EXPECT_EQ(bench.choose(pod),
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread "
            "constraints.");
  bench.erase(api::Kind::Node, "", "n2");
  bench.put_node("n1", "");
  EXPECT_EQ(bench.choose(pod),
            "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing "
            "required label).");
}

TEST(PodTopologySpread, APlacementJudgesItsOwnNodeAgain) {
  PluginBench bench;
  const JudgedNodes& judged = JudgedNodes::add_to(bench);
  put_300_nodes(bench);
  const api::Pod& pod = bench.put_pod("w", R"(,"labels":{"app":"x"})", kByZone);
  EXPECT_EQ(bench.choose(pod), "n100");
  EXPECT_EQ(judged.judged, 300u);
  const char* const expected[] = {"n200", "n300", "n101"};
  const char* const placed[] = {"n100", "n200", "n300"};
  for (int i = 0; i < 3; ++i) {
    bench.put_pod("p" + std::to_string(i), R"(,"labels":{"app":"x"})",
                  R"(,"nodeName":")" + std::string(placed[i]) + "\"");
    const std::string chosen = bench.choose(pod);
    EXPECT_EQ(chosen, expected[i]);
    EXPECT_EQ(judged.judged, 301u + static_cast<std::size_t>(i));
  }
}

}  // namespace
}  // namespace berth::placement
