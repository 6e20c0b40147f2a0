// The scores of kube-scheduler's default plugins against a slow twin that reads the objects, after any
// history; the cache against judging every node; numbers worked out by hand; what a decision costs.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "placement/plugins/resource_arithmetic.h"
#include "placement/test_replicas.h"

namespace berth::placement {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

// kube-scheduler's scores as its documentation and source describe them, node by node.
class ScoreTwin {
 public:
  ScoreTwin(const PluginBench& bench, const RandomReplicas& replicas, const api::Pod& pod,
            std::vector<const api::Node*> feasible)
      : bench_(bench), replicas_(replicas), pod_(pod), feasible_(std::move(feasible)) {
    for (const auto& [key, node] : bench.view.nodes.all()) all_.push_back(&*node);
  }

  std::map<std::string, std::int64_t> totals() const {
    std::map<std::string, std::int64_t> totals;
    add(totals, 3, share(false, [&](const api::Node& node) { return soft_taints(node); }));
    add(totals, 2, share(true, [&](const api::Node& node) { return preference(node); }));
    add(totals, 2, spread());
    for (const api::Node* node : feasible_)
      totals[node->meta.name] += least_allocated(*node) + balance(*node) + images(*node);
    return totals;
  }

 private:
  using Scores = std::vector<std::int64_t>;  // of feasible_
  void add(std::map<std::string, std::int64_t>& totals, std::int64_t weight, const Scores& scores) const {
    for (std::size_t i = 0; i < feasible_.size(); ++i) totals[feasible_[i]->meta.name] += weight * scores[i];
  }
  template <class Count>
  Scores share(bool more_is_better, Count count) const {
    std::int64_t most = 0;
    for (const api::Node* node : feasible_) most = std::max<std::int64_t>(most, count(*node));
    Scores scores;
    for (const api::Node* node : feasible_) {
      const std::int64_t part = most == 0 ? 0 : 100 * count(*node) / most;
      scores.push_back(more_is_better ? part : 100 - part);
    }
    return scores;
  }
  std::int64_t soft_taints(const api::Node& node) const {
    std::int64_t count = 0;
    for (const api::Taint& taint : node.taints)
      if (taint.effect == "PreferNoSchedule" && !api::tolerates(pod_.tolerations, taint)) ++count;
    return count;
  }
  std::int64_t preference(const api::Node& node) const {
    std::int64_t sum = 0;
    for (const api::NodePreference& one : pod_.preferred_nodes)
      if (api::matches(one.nodes, node.meta.labels, node.meta.name)) sum += one.weight;
    return sum;
  }

  std::vector<const api::Pod*> pods_on(const api::Node& node) const {
    std::vector<const api::Pod*> pods;
    const model::Cluster& cluster = bench_.cluster;
    for (const PodId id : cluster.ledger().node(cluster.find_node(node.meta.name)).pods)
      if (cluster.pod(id).live) pods.push_back(&*cluster.pod(id).live);
    return pods;
  }
  struct Amounts {
    std::int64_t cpu = 0, memory = 0;
  };
  static std::int64_t at(const api::ResourceMap& map, const std::string& name) {
    const auto found = map.find(name);
    if (found == map.end()) return 0;
    return name == "cpu" ? found->second.ceil_millis() : found->second.ceil_units();
  }
  // kube-scheduler gives floors to every container of a waiting pod. Of a pod on a node with pod-level
  // requests only what nobody asks for has one.
  enum class Floors { None, Waiting, Placed };
  static std::int64_t asked(const api::Pod& pod, const char* resource, std::int64_t floor, Floors floors) {
    const bool pod_level = pod.pod_level_requests && !pod.pod_level_requests->empty();
    if (pod_level && pod.pod_level_requests->contains(resource)) return at(*pod.pod_level_requests, resource);
    std::int64_t sum = 0, floored = 0;
    bool named = false;
    for (const api::Container& container : pod.containers) {
      sum += at(container.requests, resource);
      if (container.requests.contains(resource))
        named = true;
      else
        floored += floor;
    }
    const bool has_floors = floors == Floors::Waiting || (floors == Floors::Placed && !(pod_level && named));
    return has_floors ? sum + floored : sum;
  }
  static Amounts asked(const api::Pod& pod, Floors floors) {
    return {asked(pod, "cpu", 100, floors), asked(pod, "memory", 200 * kMiB, floors)};
  }
  Amounts used(const api::Node& node, bool floor) const {
    Amounts sum;
    for (const api::Pod* pod : pods_on(node)) {
      const Amounts one = asked(*pod, floor ? Floors::Placed : Floors::None);
      sum.cpu += one.cpu;
      sum.memory += one.memory;
    }
    return sum;
  }
  std::int64_t least_allocated(const api::Node& node) const {
    const Amounts use = used(node, true), pod = asked(pod_, Floors::Waiting);
    const auto left = [](std::int64_t requested, std::int64_t whole) {
      return requested > whole ? 0 : (whole - requested) * 100 / whole;
    };
    return (left(use.cpu + pod.cpu, at(node.allocatable, "cpu")) +
            left(use.memory + pod.memory, at(node.allocatable, "memory"))) /
           2;
  }
  std::int64_t balance(const api::Node& node) const {
    const Amounts use = used(node, false), pod = asked(pod_, Floors::None);
    if (pod.cpu == 0 && pod.memory == 0) return 0;
    const auto even = [&](std::int64_t cpu, std::int64_t memory) {
      const double a = std::min(1.0, double(cpu) / double(at(node.allocatable, "cpu")));
      const double b = std::min(1.0, double(memory) / double(at(node.allocatable, "memory")));
      return static_cast<std::int64_t>((1 - std::abs((a - b) / 2)) * 100);
    };
    return 50 + (50 + even(use.cpu + pod.cpu, use.memory + pod.memory) - even(use.cpu, use.memory)) / 2;
  }
  std::int64_t images(const api::Node& node) const {
    std::string image = pod_.containers.front().image;
    if (image.find(':') == std::string::npos) image += ":latest";
    std::int64_t with = 0, bytes = 0;
    for (const api::Node* other : all_)
      for (const api::NodeImage& one : other->images)
        if (one.name == image) {
          ++with;
          if (other == &node) bytes = one.bytes;
        }
    const double spread = double(with) / double(all_.size());
    const std::int64_t sum = static_cast<std::int64_t>(double(bytes) * spread);
    const std::int64_t most = 1000 * kMiB * static_cast<std::int64_t>(pod_.containers.size());
    return 100 * (std::clamp(sum, 23 * kMiB, most) - 23 * kMiB) / (most - 23 * kMiB);
  }

  struct Constraint {
    std::string key;
    std::int64_t max_skew;
    std::function<bool(const api::Pod&)> counts;
    const api::SpreadConstraint* policies = nullptr;
  };
  std::vector<Constraint> constraints() const {
    std::vector<Constraint> all;
    for (const api::SpreadConstraint& one : pod_.preferred_spread)
      all.push_back({one.topology_key, one.max_skew,
                     [&one](const api::Pod& pod) {
                       return !one.pods.selects_everything() && one.pods.matches(pod.meta.labels);
                     },
                     &one});
    const auto counted = replicas_.counted_for(pod_);
    if (!all.empty() || !pod_.required_spread.empty() || !counted) return all;
    return {{"kubernetes.io/hostname", 3, *counted}, {"topology.kubernetes.io/zone", 5, *counted}};
  }
  static const std::string* label(const api::Node& node, const std::string& key) {
    const auto found = node.meta.labels.find(key);
    return found == node.meta.labels.end() ? nullptr : &found->second;
  }
  std::int64_t selected(const api::Node& node, const Constraint& constraint) const {
    std::int64_t count = 0;
    for (const api::Pod* pod : pods_on(node))
      if (!pod->meta.deleting() && pod->meta.ns == pod_.meta.ns && constraint.counts(*pod)) ++count;
    return count;
  }
  bool included(const api::Node& node, const Constraint& constraint) const {
    if (!constraint.policies) return matches_selector(node);
    return (!constraint.policies->honors_affinity || matches_selector(node)) &&
           (!constraint.policies->honors_taints || !hard_tainted(node));
  }
  bool matches_selector(const api::Node& node) const {
    for (const auto& [key, value] : pod_.node_selector)
      if (!label(node, key) || *label(node, key) != value) return false;
    return true;
  }
  bool hard_tainted(const api::Node& node) const {
    for (const api::Taint& taint : node.taints)
      if (taint.effect == "NoSchedule" && !api::tolerates(pod_.tolerations, taint)) return true;
    return false;
  }
  Scores spread() const {
    const std::vector<Constraint> all = constraints();
    Scores scores(feasible_.size());
    if (all.empty()) return scores;
    const bool all_labels = !pod_.preferred_spread.empty();
    const auto lacks = [&](const api::Node& node) {
      for (const Constraint& one : all)
        if (!label(node, one.key)) return true;
      return false;
    };
    const auto ignored = [&](const api::Node& node) { return all_labels && lacks(node); };
    std::vector<double> weights;
    for (const Constraint& one : all) {
      std::set<std::string> values;
      std::size_t hosts = 0;
      for (const api::Node* node : feasible_) {
        if (ignored(*node)) continue;
        ++hosts;
        values.insert(label(*node, one.key) ? *label(*node, one.key) : "");
      }
      weights.push_back(std::log(double((one.key == "kubernetes.io/hostname" ? hosts : values.size()) + 2)));
    }
    std::int64_t least = INT64_MAX, most = 0;
    for (std::size_t i = 0; i < feasible_.size(); ++i) {
      const api::Node& node = *feasible_[i];
      if (ignored(node)) continue;
      double sum = 0;
      for (std::size_t c = 0; c < all.size(); ++c) {
        if (!label(node, all[c].key)) continue;
        std::int64_t count = 0;
        for (const api::Node* other : all_) {
          if (all[c].key == "kubernetes.io/hostname"
                  ? other == &node
                  : label(*other, all[c].key) && *label(*other, all[c].key) == *label(node, all[c].key) &&
                        !ignored(*other) && included(*other, all[c]))
            count += selected(*other, all[c]);
        }
        sum += double(count) * weights[c] + double(all[c].max_skew - 1);
      }
      scores[i] = static_cast<std::int64_t>(std::round(sum));
      least = std::min(least, scores[i]);
      most = std::max(most, scores[i]);
    }
    for (std::size_t i = 0; i < feasible_.size(); ++i)
      scores[i] = ignored(*feasible_[i]) ? 0 : most == 0 ? 100 : 100 * (most + least - scores[i]) / most;
    return scores;
  }

  const PluginBench& bench_;
  const RandomReplicas& replicas_;
  const api::Pod& pod_;
  const std::vector<const api::Node*> feasible_;
  std::vector<const api::Node*> all_;
};

constexpr int kScoredNodes = 10;
constexpr int kScoredPods = 4;

std::string one_of(std::initializer_list<const char*> texts) {
  return texts.begin()[random_below(static_cast<int>(texts.size()))];
}

class ScoreHistory {
 public:
  ScoreHistory() {
    for (int i = 0; i < kScoredNodes; ++i) put_node(i);
    for (int i = 0; i < kScoredPods; ++i) put_pod("w" + std::to_string(i), "");
  }

  void step() {
    switch (random_below(9)) {
      case 0:
      case 1:
        return put_node(random_below(kScoredNodes));
      case 8:
        return replicas_.step();
      case 2:
        return bench_.erase(api::Kind::Node, "", "n" + std::to_string(random_below(kScoredNodes)));
      case 3:
        return put_pod("w" + std::to_string(random_below(kScoredPods)), "");
      case 4:
        return bench_.erase(api::Kind::Pod, "ns", "p" + std::to_string(random_below(12)));
      default:
        return put_pod("p" + std::to_string(random_below(12)),
                       R"(,"nodeName":"n)" + std::to_string(random_below(kScoredNodes)) + "\"");
    }
  }
  void compare() {
    for (int i = 0; i < kScoredPods; ++i) compare_best(*bench_.view.pods.find("ns", "w" + std::to_string(i)));
  }

 private:
  void put_node(int i) {
    const std::string n = std::to_string(i);
    std::string labels = one_in(8) ? "" : R"("kubernetes.io/hostname":"h)" + n + "\"";
    const auto add = [&](const std::string& label) { labels += (labels.empty() ? "" : ",") + label; };
    if (!one_in(4)) add(R"("topology.kubernetes.io/zone":"z)" + std::to_string(random_below(3)) + "\"");
    if (!one_in(4)) add(R"("rack":"r)" + std::to_string(random_below(4)) + "\"");
    std::string taints;
    for (const char* key : {"a", "b"})
      if (one_in(3))
        taints += std::string(taints.empty() ? "" : ",") + R"({"key":")" + key + R"(","effect":")" +
                  (one_in(5) ? "NoSchedule" : "PreferNoSchedule") + "\"}";
    std::string images;
    for (const char* image : {"one:latest", "reg:5000/two:v1"})
      if (one_in(3))
        images += std::string(images.empty() ? "" : ",") + R"({"names":["x@sha256:1",")" + image +
                  R"("],"sizeBytes":)" + one_of({"30000000", "500000000", "3000000000"}) + "}";
    bench_.put(api::Kind::Node, R"({"metadata":{"name":"n)" + n + R"(","labels":{)" + labels +
                                    R"(}},"spec":{"taints":[)" + taints + R"(]},"status":{"images":[)" +
                                    images + R"(],"allocatable":{"cpu":")" +
                                    std::to_string(1 + random_below(4)) + R"(","memory":")" +
                                    one_of({"1Gi", "3Gi", "8Gi"}) + R"(","pods":"9"}}})");
  }
  static std::string preferred_nodes() {
    std::string terms;
    for (int i = 0; i <= random_below(3); ++i)
      terms += std::string(terms.empty() ? "" : ",") + R"({"weight":)" + std::to_string(1 + random_below(5)) +
               R"(,"preference":{"matchExpressions":[{"key":")" +
               one_of({"rack", "topology.kubernetes.io/zone"}) + R"(","operator":")" +
               one_of({R"(In","values":["r0","z1","r2"])", R"(Exists")", R"(NotIn","values":["z0","r1"])"}) +
               "}]}}";
    return R"(,"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[)" + terms +
           "]}}";
  }
  static std::string spread() {
    std::string all;
    for (const char* key : {"kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"}) {
      if (one_in(2)) continue;
      all += std::string(all.empty() ? "" : ",") + R"({"topologyKey":")" + key + R"(","maxSkew":)" +
             std::to_string(1 + random_below(3)) + R"(,"whenUnsatisfiable":")" +
             (one_in(4) ? "DoNotSchedule" : "ScheduleAnyway") + R"(","labelSelector":)" +
             one_of({R"({"matchLabels":{"app":"a"}})", "{}", R"({"matchLabels":{"app":"b"}})"}) +
             (one_in(4) ? R"(,"nodeAffinityPolicy":"Ignore")" : "") +
             (one_in(3) ? R"(,"nodeTaintsPolicy":"Honor")" : "") + "}";
    }
    return all.empty() ? "" : R"(,"topologySpreadConstraints":[)" + all + "]";
  }
  void put_pod(const std::string& name, const std::string& where) {
    std::string meta = R"("labels":{"app":")" + one_of({"a", "b"}) + "\"}";
    if (one_in(2)) meta += RandomReplicas::some_owner();
    if (!where.empty() && one_in(6)) meta += R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
    std::string spec = where;
    if (one_in(4))
      spec += R"(,"resources":{"requests":{)" +
              one_of({R"("cpu":"2")", R"("memory":"2Gi")", R"("cpu":"1500m","memory":"1Gi")"}) + "}}";
    if (one_in(3)) spec += R"(,"tolerations":[{"key":"a","operator":"Exists"}])";
    if (one_in(2)) spec += preferred_nodes();
    if (one_in(2)) spec += spread();
    if (one_in(5)) spec += R"(,"nodeSelector":{"rack":"r1"})";
    bench_.put(api::Kind::Pod,
               R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name + "\"," + meta +
                   R"(},"spec":{"containers":[{"name":"c","image":")" +
                   one_of({"one", "reg:5000/two:v1", "three"}) + R"(","resources":{"requests":{)" +
                   one_of({R"("cpu":"300m","memory":"700Mi")", R"("memory":"100Mi")", "", R"("cpu":"1")"}) +
                   "}}}" + (one_in(3) ? R"(,{"name":"d","resources":{"requests":{"memory":"100Mi"}}})" : "") +
                   "]" + spec + R"(},"status":{"phase":"Running"}})");
  }

  void compare_best(const api::Pod& pod) {
    std::vector<const api::Node*> feasible;
    for (const auto& [name, node] : bench_.cluster.live_nodes()) {
      bench_.begin(pod);
      RC_ASSERT(bench_.pods.prepare(bench_.state));
      if (bench_.pods.choose(bench_.state, {&node, 1}, {}).valid())
        feasible.push_back(bench_.cluster.node(node).live.get());
    }
    const std::string anew = bench_.choose_anew(pod), kept = bench_.choose(pod);
    if (feasible.empty()) {
      RC_ASSERT(kept == anew);
      return;
    }
    const std::map<std::string, std::int64_t> totals = ScoreTwin(bench_, replicas_, pod, feasible).totals();
    bench_.choose_anew(pod);
    const CycleState& state = bench_.state;
    for (std::size_t i = 0; state.candidates.size() > 1 && i < state.candidates.size(); ++i)
      RC_ASSERT(state.scores[i] == totals.at(bench_.cluster.node(state.candidates[i]).name));
    std::string best;
    std::int64_t highest = -1;
    for (const auto& [name, total] : totals) {
      if (total <= highest) continue;
      best = name;
      highest = total;
    }
    if (kept != best || anew != best)
      RC_LOG(best + " " + anew + " " + kept + ": " + (pod.raw ? *pod.raw : pod.meta.name));
    RC_ASSERT(anew == best);
    RC_ASSERT(kept == best);
  }

  PluginBench bench_;
  RandomReplicas replicas_{bench_};
};

TEST(NormalizedScores, EqualASlowTwinAfterAnyHistory) {
  EXPECT_TRUE(rc::check("twin, pass and cache agree", [] {
    ScoreHistory history;
    const int steps = 5 + random_below(25);
    for (int i = 0; i < steps; ++i) {
      history.step();
      if (one_in(2)) history.compare();
    }
    history.compare();
  }));
}

// Sizes that no image has: neither overflows.
TEST(NormalizedScores, ImagesOfAnySizeAreCompared) {
  PluginBench bench;
  for (const auto& [name, size] : {std::pair("n1", "-9223372036854775808"), std::pair("n2", "1"),
                                   std::pair("n3", "9223372036854775807")})
    bench.put(api::Kind::Node, R"({"metadata":{"name":")" + std::string(name) +
                                   R"("},"status":{"images":[{"names":["i:1"],"sizeBytes":)" + size +
                                   R"(}],"allocatable":{"cpu":"4","memory":"8Gi","pods":"9"}}})");
  std::string containers;
  for (int i = 0; i < 16; ++i)
    containers += (i == 0 ? R"({"name":"c)" : R"(,{"name":"c)") + std::to_string(i) + R"(","image":"i:1"})";
  bench.put(api::Kind::Pod, R"({"metadata":{"name":"w","namespace":"ns","uid":"w"},"spec":{"containers":[)" +
                                containers + "]}}");
  const api::Pod& pod = *bench.view.pods.find("ns", "w");
  EXPECT_EQ(bench.choose(pod), "n3");
  EXPECT_EQ(bench.choose_anew(pod), "n3");
}

using plugins::ScoredResource;

struct ResourceCase {
  std::string name;
  std::vector<ScoredResource> resources;  // requested with the pod, without it, allocatable, weight
  std::int64_t least, most, ratio, balance;
};

// The shape rises from 0 at 20 percent to 10 at 70 percent: two points of score a percent.
TEST(ResourceArithmetic, HandWorked) {
  const std::vector<UtilizationPoint> shape = {{20, 0}, {70, 10}};
  const std::vector<ResourceCase> cases = {
      {"none", {}, 0, 0, 0, 75},
      // 10/3 percent are 3. With the pod the shares are equal, before they differed by one third.
      // 100 - 16 = 83 (83.3 cut): 50 + (50 + 100 - 83) / 2.
      {"equal", {{1, 0, 3, 1}, {10, 10, 30, 1}}, 66, 33, 26, 83},
      // cpu 50, memory 10 percent; memory scores 0 in the shape and drops out. Shares 0.5 and 0.1: 1 - 0.2.
      {"memory drops out", {{50, 50, 100, 1}, {10, 10, 100, 1}}, 70, 30, 60, 75},
      // (50 * 3 + 90) / 4 = 60. (60 * 3) / 3.
      {"weights", {{50, 0, 100, 3}, {10, 0, 100, 1}}, 60, 40, 60, 65},
      // Beyond what is there: least 0, most 100, the shape's end.
      {"too much", {{150, 100, 100, 1}, {0, 0, 100, 1}}, 50, 50, 100, 75},
      // The third one's 0 drops out of the ratio. Shares of 1, 1 and 0 deviate by 0.471: 52; before, 100.
      {"three", {{100, 0, 100, 1}, {100, 0, 100, 1}, {0, 0, 100, 1}}, 33, 66, 100, 51},
      // 21 percent score 2, 23 percent 6: (2 + 2 * 6) / 3 is rounded to 5.
      {"rounds", {{21, 21, 100, 1}, {23, 23, 100, 2}}, 77, 22, 5, 75},
  };
  for (const ResourceCase& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(plugins::least_allocated_score(one.resources), one.least);
    EXPECT_EQ(plugins::most_allocated_score(one.resources), one.most);
    EXPECT_EQ(plugins::capacity_ratio_score(one.resources, shape), one.ratio);
    EXPECT_EQ(plugins::balance_score(one.resources), one.balance);
  }
}

// A placement moves its node to another cell; the next decision judges that node alone.
TEST(NormalizedScores, APlacementCostsOneNode) {
  PluginBench bench;
  const JudgedNodes& judged = JudgedNodes::add_to(bench);
  for (int i = 0; i < 300; ++i) {
    const std::string n = std::to_string(100 + i);
    bench.put(api::Kind::Node, R"({"metadata":{"name":"n)" + n +
                                   R"(","labels":{"kubernetes.io/hostname":"h)" + n +
                                   R"(","topology.kubernetes.io/zone":"z)" + std::to_string(i % 3) +
                                   R"("}},"spec":{"taints":[{"key":"k","effect":")" +
                                   (i < 200 ? "PreferNoSchedule" : "NoSuchEffect") +
                                   R"("}]},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"9"}}})");
  }
  const std::string owned = R"(,"ownerReferences":[{"controller":true,"uid":"u","name":"rs",)"
                            R"("apiVersion":"apps/v1","kind":"ReplicaSet"}])";
  const api::Pod& waiting = bench.put_pod("w", owned);
  EXPECT_EQ(bench.choose(waiting), "n300");
  EXPECT_EQ(judged.judged, 300u);
  for (const char* next : {"n301", "n302", "n303"}) {
    const std::string at = bench.choose(waiting);
    bench.put_pod("p-" + at, owned, R"(,"nodeName":")" + at + "\"");
    const std::size_t before = judged.judged;
    EXPECT_EQ(bench.choose(waiting), next);
    EXPECT_EQ(judged.judged, before + 1);
  }
}

// Every node differs: the cells are too many, and the pod is judged on all nodes, with the same answer.
TEST(NormalizedScores, BeyondTheCellsAllNodesAreJudged) {
  PluginBench bench;
  std::string last;
  for (std::size_t i = 0; i <= kCellsMax; ++i) {
    last = "n" + std::to_string(100000 + i);
    bench.put(api::Kind::Node, R"({"metadata":{"name":")" + last +
                                   R"("},"status":{"images":[{"names":["i:1"],)" + R"("sizeBytes":)" +
                                   std::to_string(100000000 + 100000 * i) +
                                   R"(}],"allocatable":{"cpu":"4","memory":"8Gi","pods":"9"}}})");
  }
  bench.put(api::Kind::Pod, R"({"metadata":{"name":"w","namespace":"ns","uid":"w"},"spec":{"containers":[)"
                            R"({"name":"c","image":"i:1"}]}})");
  const api::Pod& pod = *bench.view.pods.find("ns", "w");
  const std::string best = bench.choose_anew(pod);
  EXPECT_NE(best, "n100000");
  EXPECT_EQ(bench.choose(pod), best);
  bench.erase(api::Kind::Node, "", last);
  EXPECT_EQ(bench.choose(pod), bench.choose_anew(pod)) << "few enough";
}

}  // namespace
}  // namespace berth::placement
