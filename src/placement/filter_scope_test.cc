// Filters that read other nodes: cached verdicts against judging every node anew, and how many nodes are
// judged.
#include "placement/filter_scope.h"

#include <gtest/gtest.h>

#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

constexpr Reason kTooClose = {"TooClose", "Toy", "node(s) were too close", "is too close", "are too close"};

std::string annotation(const api::Pod& pod, const std::string& key) {
  const auto found = pod.meta.annotations.find(key);
  return found == pod.meta.annotations.end() ? "" : found->second;
}

// How many pods whose annotation is `kind` run in each rack and in total.
struct Census {
  std::map<std::string, std::int64_t> by_rack;  // racks with a node
  std::int64_t total = 0;
  Census(const model::Cluster& cluster, const std::string& kind) {
    for (const auto& [name, node] : cluster.live_nodes()) {
      const std::string rack = rack_of(cluster, node);
      if (!rack.empty()) by_rack[rack] += 0;
      for (const PodId pod : cluster.ledger().node(node).pods) {
        if (annotation(*cluster.pod(pod).live, "kind") != kind) continue;
        ++total;
        if (!rack.empty()) ++by_rack[rack];
      }
    }
  }
  std::int64_t least() const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const auto& [rack, count] : by_rack) least = std::min(least, count);
    return by_rack.empty() ? 0 : least;
  }
  static std::string rack_of(const model::Cluster& cluster, NodeId node) {
    const api::StringMap& labels = cluster.node(node).live->meta.labels;
    const auto label = labels.find("rack");
    return label == labels.end() ? "" : label->second;
  }
};

// Apart: no two pods of a kind in a rack. Spread: racks differ by one pod of a kind at most. Single: one pod
// of a kind in the cluster.
enum class Rule : std::uint8_t { Apart, Spread, Single };

class Toy final : public Filter {
 public:
  explicit Toy(Rule rule) : rule_(rule) {}
  std::string_view name() const override { return "Toy"; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    if (signature.begin(name())) signature.put(annotation(*query.pod, "kind"));
    return Signing::Signed;
  }
  void add_scope(const PodQuery& query, FilterScope& scope) const override {
    const model::Cluster& cluster = query.context->cluster;
    if (rule_ != Rule::Single) scope.add_domain("rack");
    if (rule_ == Rule::Spread)
      scope.add_cluster(static_cast<std::uint64_t>(Census(cluster, annotation(*query.pod, "kind")).least()));
    if (rule_ == Rule::Single) scope.add_cluster(cluster);
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    const model::Cluster& cluster = query.context->cluster;
    const Census census(cluster, annotation(*query.pod, "kind"));
    verdicts.keep_if(kTooClose, [&](NodeId node) {
      ++judged;
      if (rule_ == Rule::Single) return census.total == 0;
      const auto rack = census.by_rack.find(Census::rack_of(cluster, node));
      if (rack == census.by_rack.end()) return true;
      return rule_ == Rule::Apart ? rack->second == 0 : rack->second == census.least();
    });
  }
  mutable int judged = 0;  // nodes, in all calls

 private:
  Rule rule_;
};

std::string kind_of(const std::string& kind) {
  return R"(,"annotations":{"kind":")" + kind + "\"}";
}

// Twelve nodes n00 to n11, three in each of the racks r0 to r3.
class World12 {
 public:
  explicit World12(Rule rule) {
    auto toy = std::make_unique<Toy>(rule);
    toy_ = toy.get();
    bench.plugins.filters.push_back(std::move(toy));
    for (int i = 0; i < 12; ++i) label(i, i / 3);
  }
  static std::string node(int i) { return (i < 10 ? "n0" : "n") + std::to_string(i); }
  // Rack -1: none.
  void label(int i, int rack) {
    bench.put_node(node(i), rack < 0 ? "" : R"("rack":"r)" + std::to_string(rack) + "\"");
  }
  void run(const std::string& pod, const std::string& kind, int i) {
    bench.put_pod(pod, kind_of(kind), R"(,"nodeName":")" + node(i) + "\"");
  }
  const api::Pod& waiting(const std::string& kind) { return bench.put_pod("new-" + kind, kind_of(kind)); }
  // The node for a pod of this kind, and how many nodes the filter judged.
  std::pair<std::string, int> choose(const std::string& kind) {
    const int before = toy_->judged;
    const std::string chosen = bench.choose(waiting(kind));
    return {chosen, toy_->judged - before};
  }

  PluginBench bench;

 private:
  Toy* toy_ = nullptr;
};
using Answer = std::pair<std::string, int>;

TEST(FilterScope, AChangeRenewsTheDomainAlone) {
  World12 world(Rule::Apart);
  EXPECT_EQ(world.choose("a"), Answer("n00", 12));
  EXPECT_EQ(world.choose("a"), Answer("n00", 0));
  world.run("p", "a", 1);
  EXPECT_EQ(world.choose("a"), Answer("n03", 3));
  // n01 moves from r0 to r1 with its pod.
  world.label(1, 1);
  EXPECT_EQ(world.choose("a"), Answer("n00", 6));
  world.label(1, -1);
  EXPECT_EQ(world.choose("a").first, "n00");
  world.bench.erase(api::Kind::Pod, "ns", "p");
  EXPECT_EQ(world.choose("a"), Answer("n00", 1));
}

TEST(FilterScope, ADigestRenewsTheClusterWhenItChanges) {
  World12 world(Rule::Spread);
  EXPECT_EQ(world.choose("a"), Answer("n00", 12));
  world.run("p0", "a", 0);
  world.run("p1", "a", 3);
  EXPECT_EQ(world.choose("a"), Answer("n06", 6));
  world.run("p2", "a", 6);
  EXPECT_EQ(world.choose("a"), Answer("n09", 3));
  world.run("p3", "a", 9);
  EXPECT_EQ(world.choose("a"), Answer("n01", 12));
}

TEST(FilterScope, AnyChangeRenewsAFilterOfTheWholeCluster) {
  World12 world(Rule::Single);
  EXPECT_EQ(world.choose("a"), Answer("n00", 12));
  EXPECT_EQ(world.choose("a"), Answer("n00", 0));
  world.run("p", "a", 11);
  EXPECT_EQ(world.choose("a"), Answer("0/12 nodes are available: 12 node(s) were too close.", 12));
}

// One random change.
void step(World12& world) {
  const std::string pod = "p" + std::to_string(random_below(6));
  switch (random_below(4)) {
    case 0:
      return world.label(random_below(14), random_below(5) - 1);
    case 1:
      return world.bench.erase(api::Kind::Pod, "ns", pod);
    case 2:
      return world.bench.erase(api::Kind::Node, "", World12::node(random_below(14)));
    default:
      world.bench.erase(api::Kind::Pod, "ns", pod);
      return world.run(pod, random_below(2) == 0 ? "a" : "b", random_below(12));
  }
}

void compare(World12& world) {
  for (const char* kind : {"a", "b"}) {
    const api::Pod& pod = *world.bench.view.pods.find("ns", std::string("new-") + kind);
    RC_ASSERT(world.bench.choose(pod) == world.bench.choose_anew(pod));
  }
}

class FilterScopeProperty : public testing::TestWithParam<Rule> {};

TEST_P(FilterScopeProperty, KeptVerdictsAreThoseOfJudgingAnew) {
  EXPECT_TRUE(rc::check("kept and anew agree", [] {
    World12 world(GetParam());
    for (const char* kind : {"a", "b"}) world.waiting(kind);
    const int steps = 5 + random_below(30);
    for (int i = 0; i < steps; ++i) {
      step(world);
      compare(world);
      // Changes inside a transaction and its rollback count too.
      model::Ledger::Transaction transaction(world.bench.cluster.ledger());
      world.bench.begin(*world.bench.view.pods.find("ns", "new-a"));
      const NodeId node = world.bench.index.choose(world.bench.state, {});
      if (node.valid()) RC_ASSERT(world.bench.pods.reserve(world.bench.state, node, transaction));
      compare(world);
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(Rules, FilterScopeProperty,
                         testing::Values(Rule::Apart, Rule::Spread, Rule::Single));

TEST(FilterScope, ANodeThatJoinsOrLeavesRenewsItsDomainAlone) {
  World12 world(Rule::Apart);
  world.run("p", "a", 1);
  EXPECT_EQ(world.choose("a"), Answer("n03", 12));
  world.label(12, 1);
  EXPECT_EQ(world.choose("a"), Answer("n03", 4));
  world.bench.erase(api::Kind::Node, "", "n03");
  EXPECT_EQ(world.choose("a"), Answer("n04", 3));
  // The node takes the pod that r0 had with it.
  world.bench.erase(api::Kind::Node, "", "n01");
  EXPECT_EQ(world.choose("a"), Answer("n00", 2));
}

TEST(DomainMembers, ForgetsValuesThatNoNodeHasAnyMore) {
  PluginBench bench;
  for (const char* name : {"n0", "n1", "n2"}) bench.put_node(name, R"("rack":"r")");
  const NodeOrder& order = bench.domains.order(bench.cluster);
  DomainMembers members("rack", bench.cluster, order);
  const std::vector<std::uint32_t> first = {order.slot(bench.cluster.find_node("n0"))};
  for (int i = 0; i < 100; ++i) {
    bench.put_node("n0", R"("rack":"r)" + std::to_string(i) + "\"");
    std::vector<std::uint32_t> widened;
    members.widen(bench.cluster, order, first, widened);
    EXPECT_EQ(widened.size(), i == 0 ? 3u : 1u) << i;
    EXPECT_LE(members.values(), 2 * order.slot_count());
  }
  bench.put_node("n0", R"("rack":"r")");
  std::vector<std::uint32_t> widened;
  members.widen(bench.cluster, order, first, widened);
  EXPECT_EQ(widened.size(), 3u);
}

}  // namespace
}  // namespace berth::placement
