// InterPodAffinity against a slow twin that compares all pods of all nodes, after any history; the cache
// against judging every node; texts; what a decision costs.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

constexpr const char* kAffinityText = "node(s) didn't match pod affinity rules";
constexpr const char* kAntiAffinityText = "node(s) didn't match pod anti-affinity rules";
constexpr const char* kOthersText = "node(s) didn't satisfy existing pods anti-affinity rules";

// The rules as Kubernetes describes them: empty when the node is accepted.
class AffinityTwin {
 public:
  AffinityTwin(const PluginBench& bench, const api::Pod& pod) : bench_(bench), pod_(pod) {}

  std::string why_not(NodeId node) const {
    if (!has_affinity(node)) return kAffinityText;
    for (const Placed& other : placed())
      for (const api::PodAffinityTerm& term : pod_.required_anti_affinity)
        if (share(node, other.node, term.topology_key) && means(term, *other.pod)) return kAntiAffinityText;
    for (const Placed& other : placed())
      for (const api::PodAffinityTerm& term : other.pod->required_anti_affinity)
        if (share(node, other.node, term.topology_key) && means(term, pod_)) return kOthersText;
    return "";
  }
  // The sum of the weights of preferred terms, and 1 for each required affinity of others.
  std::int64_t preference(NodeId node) const {
    std::int64_t sum = 0;
    for (const Placed& other : placed()) {
      const auto counts = [&](const api::PodAffinityTerm& term, const api::Pod& meant) {
        return share(node, other.node, term.topology_key) && means(term, meant);
      };
      for (const api::PodPreference& one : pod_.preferred_affinity)
        if (counts(one.term, *other.pod)) sum += one.weight;
      for (const api::PodPreference& one : other.pod->preferred_affinity)
        if (counts(one.term, pod_)) sum += one.weight;
      for (const api::PodAffinityTerm& term : other.pod->required_affinity)
        if (counts(term, pod_)) sum += 1;
    }
    return sum;
  }

 private:
  struct Placed {
    NodeId node;
    const api::Pod* pod;
  };
  std::vector<Placed> placed() const {
    std::vector<Placed> all;
    for (const auto& [name, pod] : bench_.view.pods.all()) {
      const NodeId node =
          bench_.cluster.ledger().node_of(bench_.cluster.find_pod(pod->meta.ns, pod->meta.name));
      if (node.valid() && bench_.cluster.node(node).live && !pod->finished()) all.push_back({node, &*pod});
    }
    return all;
  }
  const std::string* label(NodeId node, const std::string& key) const {
    const api::StringMap& labels = bench_.cluster.node(node).live->meta.labels;
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
  }
  bool share(NodeId a, NodeId b, const std::string& key) const {
    return label(a, key) && label(b, key) && *label(a, key) == *label(b, key);
  }
  bool means(const api::PodAffinityTerm& term, const api::Pod& pod) const {
    const api::Namespace* ns = bench_.view.namespaces.find("", pod.meta.ns);
    return term.means(pod.meta.ns, pod.meta.labels,
                      ns ? ns->meta.labels : api::StringMap{{"kubernetes.io/metadata.name", pod.meta.ns}});
  }
  bool means_all(const api::Pod& pod) const {
    for (const api::PodAffinityTerm& term : pod_.required_affinity)
      if (!means(term, pod)) return false;
    return true;
  }
  bool has_affinity(NodeId node) const {
    bool met = true, exists = false;
    for (const api::PodAffinityTerm& term : pod_.required_affinity) {
      if (!label(node, term.topology_key)) return false;
      bool here = false;
      for (const Placed& other : placed()) {
        if (!means_all(*other.pod)) continue;
        exists = exists || label(other.node, term.topology_key);
        here = here || share(node, other.node, term.topology_key);
      }
      met = met && here;
    }
    return met || (!exists && means_all(pod_));
  }

  const PluginBench& bench_;
  const api::Pod& pod_;
};

constexpr int kHosts = 12;
constexpr int kSeekers = 4;

// Refuses the nodes with disk=d1, as devices may.
class LazyOnDisks final : public LazyFilter {
 public:
  std::string_view name() const override { return "LazyOnDisks"; }
  Signing sign(const PodQuery&, PodSignature&) const override { return Signing::Signed; }
  bool wanted(const PodQuery&) const override { return true; }
  bool accepts(const NodeTrial& trial) const override {
    const api::StringMap& labels = trial.query.context->cluster.node(trial.node).live->meta.labels;
    const auto disk = labels.find("disk");
    return disk == labels.end() || disk->second != "d1" || trial.refuse(reason_row("CannotAllocateClaims"));
  }
  bool prefers(const PodQuery&) const override { return false; }
  bool explains(const PodQuery&, const Reason&) const override { return false; }
  std::string explain(const PodQuery&, NodeId) const override { return ""; }
};

// Many nodes: most take no pod at all.
enum class Cluster { Small, SmallWithLazy, LargeWithLazy };
constexpr int kFullNodes = 100;

class AffinityHistory {
 public:
  explicit AffinityHistory(Cluster cluster) : has_lazy_(cluster != Cluster::Small) {
    if (has_lazy_) bench_.plugins.lazy_filters.push_back(std::make_unique<LazyOnDisks>());
    for (int i = 0; cluster == Cluster::LargeWithLazy && i < kFullNodes; ++i)
      bench_.put(api::Kind::Node, R"({"metadata":{"name":"z)" + std::to_string(i) +
                                      R"("},"status":{"allocatable":{"cpu":"0","pods":"9"}}})");
    for (int i = 0; i < kHosts; ++i) cluster_.put_node(i);
    for (int i = 0; i < kSeekers; ++i) put_seeker(i);
  }

  void step() {
    switch (random_below(10)) {
      case 0:
        return cluster_.put_node(random_below(kHosts));
      case 1:
        return cluster_.erase_node();
      case 2:
        return put_seeker(random_below(kSeekers));
      case 3:
        return bench_.erase(api::Kind::Pod, "ns", "p" + std::to_string(random_below(10)));
      case 4:
        return put_namespace(one_in(2) ? "ns" : "other");
      default:
        return run(random_below(10));
    }
  }

  void compare(bool all) {
    for (int i = 0; i < kSeekers; ++i) {
      if (!all && one_in(2)) continue;
      compare_with_twin(cluster_.waiting(i));
      compare_best(cluster_.waiting(i));
    }
  }

  void try_placing() {
    cluster_.try_placing(kSeekers, [this] {
      for (int k = 0; k < kSeekers; ++k) {
        const api::Pod& pod = cluster_.waiting(k);
        if (cluster_.has_place(pod)) continue;
        compare_best(pod);
        compare_with_twin(pod);
      }
    });
  }

 private:
  void put_namespace(const std::string& name) {
    if (one_in(4)) return bench_.erase(api::Kind::Namespace, "", name);
    bench_.put(api::Kind::Namespace, R"({"metadata":{"name":")" + name +
                                         R"(","labels":{"kubernetes.io/metadata.name":")" + name + "\"" +
                                         (one_in(2) ? R"(,"team":"a")" : "") + "}}}");
  }
  static std::string term() {
    static const char* const keys[] = {"zone", "host", "disk", "none"};
    static const char* const selectors[] = {
        R"(,"labelSelector":{"matchLabels":{"app":"a"}})", R"(,"labelSelector":{"matchLabels":{"app":"b"}})",
        R"(,"labelSelector":{"matchExpressions":[{"key":"rev","operator":"DoesNotExist"}]})",
        R"(,"labelSelector":{})", ""};
    static const char* const namespaces[] = {
        R"(,"namespaces":["other"])", R"(,"namespaceSelector":{})", R"(,"namespaces":["ns","other"])",
        R"(,"namespaceSelector":{"matchLabels":{"team":"a"}})",
        R"(,"namespaceSelector":{"matchExpressions":[{"key":"team","operator":"DoesNotExist"}]})"};
    std::string text = R"({"topologyKey":")" + std::string(keys[one_in(8) ? 3 : random_below(3)]) + "\"";
    text += selectors[one_in(3) ? random_below(5) : random_below(2)];
    if (one_in(3)) text += namespaces[random_below(5)];
    if (one_in(5)) text += R"(,"matchLabelKeys":["rev"])";
    if (one_in(5)) text += R"(,"mismatchLabelKeys":["rev"])";
    return text + "}";
  }
  // In one of 24 lists so many that they are found by an index.
  static int more_terms() { return one_in(24) ? 20 : one_in(2) ? 1 : 0; }
  static std::string preferred_term() {
    return R"({"weight":)" + std::to_string(1 + random_below(3)) + R"(,"podAffinityTerm":)" + term() + "}";
  }
  static std::string terms_of(const std::string& kind) {
    std::string text = "\"" + kind + "\":{";
    const bool required = one_in(2);
    if (required) {
      text += R"("requiredDuringSchedulingIgnoredDuringExecution":[)" + term();
      for (int more = more_terms(); more > 0; --more) text += "," + term();
      text += "]";
    }
    if (required && one_in(2)) return text + "}";
    text += std::string(required ? "," : "") + R"("preferredDuringSchedulingIgnoredDuringExecution":[)" +
            preferred_term();
    for (int more = more_terms(); more > 0; --more) text += "," + preferred_term();
    return text + "]}";
  }
  static std::string affinity() {
    const int which = random_below(4);
    return R"(,"affinity":{)" + (which != 1 ? terms_of("podAntiAffinity") : std::string()) +
           (which == 0 ? "," : "") + (which < 2 ? terms_of("podAffinity") : std::string()) + "}";
  }
  void run(int i) {
    cluster_.put_placed(i, i >= 8 ? "other" : "ns", one_in(3) ? affinity() : "",
                        one_in(6) ? "Failed" : "Running");
  }
  void put_seeker(int i) {
    bench_.put_pod("w" + std::to_string(i), "," + RandomCluster::labels_of_pod(),
                   one_in(4) ? "" : affinity());
  }

  // The best node by what is known of each: kube-scheduler scales over those that may take the pod.
  std::string best_node(const api::Pod& pod) {
    const AffinityTwin twin(bench_, pod);
    bench_.begin(pod);
    RC_ASSERT(bench_.pods.prepare(bench_.state));
    bench_.pods.judge(bench_.state, bench_.domains.nodes(bench_.cluster));
    struct Rated {
      NodeId node;
      std::int64_t base, preference;
      bool accepted;
    };
    std::vector<Rated> rated;
    const std::vector<NodeId> candidates = bench_.state.candidates;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!twin.why_not(candidates[i]).empty()) continue;
      // The scale is over nodes that lazy filters refuse, too: these are asked last.
      const bool accepted = !has_lazy_ || bench_.pods.accepts(bench_.state, candidates[i]);
      rated.push_back({candidates[i], bench_.state.scores[i], twin.preference(candidates[i]), accepted});
    }
    std::int64_t least = 0, most = 0;
    for (const Rated& one : rated) {
      least = &one == &rated.front() ? one.preference : std::min(least, one.preference);
      most = &one == &rated.front() ? one.preference : std::max(most, one.preference);
    }
    const Rated* best = nullptr;
    std::int64_t highest = 0;
    for (const Rated& one : rated) {
      if (!one.accepted) continue;
      std::int64_t total = one.base;
      if (most > least)
        total += 2 * static_cast<std::int64_t>(100.0 * (static_cast<double>(one.preference - least) /
                                                        static_cast<double>(most - least)));
      if (best && total <= highest) continue;
      best = &one;
      highest = total;
    }
    return best ? bench_.cluster.node(best->node).name : "";
  }
  void compare_best(const api::Pod& pod) {
    const std::string best = best_node(pod), anew = bench_.choose_anew(pod), kept = bench_.choose(pod);
    if (kept != anew || (!best.empty() && anew != best))
      RC_LOG(best + " " + anew + " " + kept + ": " + (pod.raw ? *pod.raw : pod.meta.name));
    RC_ASSERT(kept == anew);
    RC_ASSERT(anew == best || (best.empty() && anew.starts_with("0/")));
  }

  void compare_with_twin(const api::Pod& pod) {
    const AffinityTwin twin(bench_, pod);
    for (const auto& [name, node] : bench_.cluster.live_nodes()) {
      if (name.starts_with("z")) continue;
      const auto refusal = cluster_.refusal_by(node, pod);
      if (!refusal) continue;
      const std::string expected = twin.why_not(node);
      const bool by_lazy = expected.empty() && *refusal == "cannot allocate all claims";
      RC_ASSERT(*refusal == expected || (has_lazy_ && by_lazy));
    }
  }

  RandomCluster cluster_{kHosts};
  PluginBench& bench_ = cluster_.bench;
  const bool has_lazy_;
};

class AffinityTwinTest : public testing::TestWithParam<Cluster> {};

TEST_P(AffinityTwinTest, EqualsASlowTwinAfterAnyHistory) {
  EXPECT_TRUE(rc::check("twin, pass and cache agree", [] {
    AffinityHistory history(GetParam());
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

INSTANTIATE_TEST_SUITE_P(Clusters, AffinityTwinTest,
                         testing::Values(Cluster::Small, Cluster::SmallWithLazy, Cluster::LargeWithLazy));

std::string with_terms(const std::string& kind, const std::string& terms) {
  return R"(,"affinity":{")" + kind + R"(":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + terms +
         "]}}";
}
std::string term_for(const std::string& app, const std::string& key) {
  return R"({"labelSelector":{"matchLabels":{"app":")" + app + R"("}},"topologyKey":")" + key + "\"}";
}

struct TextCase {
  std::string placed;  // spec of the pod app=x on n1, in the zone a
  std::string meta, spec;
  std::string says;
};

// n1 and n2 in the zones a and b, n3 in none, n4 in the zone b without cpu.
TEST(InterPodAffinity, SaysWhatKubernetesSays) {
  const std::string web = R"(,"labels":{"app":"web"})";
  const std::string apart = with_terms("podAntiAffinity", term_for("web", "zone"));
  const std::string in_zone_a = R"(,"nodeSelector":{"zone":"a"})";
  const std::vector<TextCase> cases = {
      {"", "", with_terms("podAffinity", term_for("y", "zone")),
       "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't match pod affinity rules."},
      {"", "", with_terms("podAffinity", term_for("x", "zone")), "n1"},
      // A pod counts only if it meets all terms.
      {"", "", with_terms("podAffinity", term_for("x", "zone") + "," + term_for("y", "zone")),
       "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't match pod affinity rules."},
      // The first of a series; a node without the key is refused all the same.
      {"", web, with_terms("podAffinity", term_for("web", "zone")), "n2"},
      {"", web, with_terms("podAffinity", term_for("web", "rack")),
       "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't match pod affinity rules."},
      {"", "", with_terms("podAntiAffinity", term_for("x", "zone")), "n2"},
      {"", "", with_terms("podAntiAffinity", R"({"labelSelector":{},"topologyKey":"zone"})"), "n2"},
      {apart, web, "", "n2"},
      {apart, R"(,"labels":{"app":"db"})", in_zone_a, "n1"},
      {apart, web, in_zone_a,
       "0/4 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules, 3 node(s) "
       "didn't match Pod's node affinity/selector."},
      // Affinity first, then the pod's anti-affinity, then that of others.
      {apart, web,
       R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
           term_for("x", "zone") +
           R"(]},"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
           term_for("x", "host") + "]}}",
       "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod anti-affinity rules, 2 "
       "node(s) didn't match pod affinity rules."},
  };
  for (const TextCase& one : cases) {
    SCOPED_TRACE(one.spec);
    PluginBench bench;
    bench.put_node("n1", R"("zone":"a","host":"n1")");
    bench.put_node("n2", R"("zone":"b","host":"n2")");
    bench.put_node("n3", "");
    bench.put(api::Kind::Node,
              R"({"metadata":{"name":"n4","labels":{"zone":"b"}},"status":{"allocatable":{"cpu":"0",)"
              R"("memory":"8Gi","pods":"9"}}})");
    bench.put_pod("placed", R"(,"labels":{"app":"x"})", R"(,"nodeName":"n1")" + one.placed);
    const api::Pod& pod = bench.put_pod("p", one.meta, one.spec);
    EXPECT_EQ(bench.choose(pod), one.says);
    EXPECT_EQ(bench.choose_anew(pod), one.says);
  }
}

TEST(InterPodAffinity, OnlyAMissingPodIsBeyondPreemption) {
  PluginBench bench;
  bench.put_node("n1", R"("zone":"a")");
  bench.put_pod("placed", R"(,"labels":{"app":"x"})",
                R"(,"nodeName":"n1")" + with_terms("podAntiAffinity", term_for("web", "zone")));
  const std::pair<std::string, FilterStatus> cases[] = {
      {with_terms("podAffinity", term_for("y", "zone")), FilterStatus::UnschedulableAndUnresolvable},
      {with_terms("podAntiAffinity", term_for("x", "zone")), FilterStatus::Unschedulable},
      {"", FilterStatus::Unschedulable}};
  for (const auto& [spec, status] : cases) {
    const api::Pod& pod = bench.put_pod("p", R"(,"labels":{"app":"web"})", spec);
    bench.choose(pod);
    const FitError error = bench.index.fit_error(bench.state);
    EXPECT_EQ(error.unresolvable, status == FilterStatus::Unschedulable ? 0u : 1u) << spec;
    EXPECT_EQ(error.unschedulable, status == FilterStatus::Unschedulable ? 1u : 0u) << spec;
  }
}

TEST(InterPodAffinity, APodWithTooManyTermsIsUnproved) {
  PluginBench bench;
  bench.put_node("n1", R"("zone":"a")");
  std::string terms = term_for("y", "zone");
  for (std::size_t i = 1; i < model::kAffinityKeysMax; ++i) terms += "," + term_for("y", std::to_string(i));
  EXPECT_EQ(bench.choose(bench.put_pod("most", "", with_terms("podAntiAffinity", terms))), "n1");
  const api::Pod& more =
      bench.put_pod("more", "", with_terms("podAntiAffinity", terms + "," + term_for("y", "one")));
  EXPECT_EQ(bench.choose(more),
            "0/1 nodes are available: pod sets more than 64 topology keys in terms of spec.affinity between "
            "pods, which Berth does not honour yet.");
  EXPECT_EQ(bench.index.fit_error(bench.state).unproved, kFieldNotHonoured);
}

TEST(InterPodAffinity, APodWaitsForTheEventsOfItsTerms) {
  PluginBench bench;
  const std::uint32_t plain = bench.plugins.events_for(bench.put_pod("plain"));
  EXPECT_EQ(plain & (kEventPodPlaced | kEventPodRelabelled), 0u);
  EXPECT_EQ(plain & (kEventPodGone | kEventNamespaceChanged), kEventPodGone | kEventNamespaceChanged)
      << "the terms of others";
  const auto events_of = [&](const std::string& kind) {
    return bench.plugins.events_for(bench.put_pod("p", "", with_terms(kind, term_for("x", "zone")))) & ~plain;
  };
  EXPECT_EQ(events_of("podAffinity"), kEventPodPlaced | kEventPodRelabelled);
  EXPECT_EQ(events_of("podAntiAffinity"), kEventPodRelabelled);
}

std::string preferred(const std::string& kind, const std::string& terms) {
  return "\"" + kind + R"(":{"preferredDuringSchedulingIgnoredDuringExecution":[)" + terms + "]}";
}
std::string weighed(int weight, const std::string& app, const std::string& key) {
  return R"({"weight":)" + std::to_string(weight) + R"(,"podAffinityTerm":)" + term_for(app, key) + "}";
}

struct ScoreCase {
  std::string placed;  // affinity of the pod app=x on n1, in the zone a
  std::string labels, affinity;
  std::string node;
};

// n1 and n2 in the zone a, n3 in the zone b, n4 in none: by requests n2, n3 and n4 are alike, and n1 is
// fuller. LeastAllocated: n1 50 + 75, the others 75 + 75, halved.
TEST(InterPodAffinity, PreferredTermsWeighTwice) {
  const std::vector<ScoreCase> cases = {
      {"", "", "", "n2"},
      {"", "", preferred("podAffinity", weighed(1, "x", "host")), "n1"},
      {"", "", preferred("podAffinity", weighed(1, "x", "zone")), "n2"},
      {"", "", preferred("podAntiAffinity", weighed(1, "x", "zone")), "n3"},
      // n1: 3 - 5, n2: -5, n3 and n4: 0.
      {"", "",
       preferred("podAffinity", weighed(3, "x", "host")) + "," +
           preferred("podAntiAffinity", weighed(5, "x", "zone")),
       "n3"},
      // n1: 5 - 3, n2: -3.
      {"", "",
       preferred("podAffinity", weighed(5, "x", "host")) + "," +
           preferred("podAntiAffinity", weighed(3, "x", "zone")),
       "n1"},
      // The terms of the pod that is there.
      {preferred("podAffinity", weighed(1, "w", "host")), "w", "", "n1"},
      {preferred("podAntiAffinity", weighed(1, "w", "zone")), "w", "", "n3"},
      {preferred("podAntiAffinity", weighed(1, "w", "zone")), "v", "", "n2"},
      // Its required affinity counts 1: less than a preference of 2 the other way.
      {R"("podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + term_for("w", "host") + "]}",
       "w", "", "n1"},
      {R"("podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + term_for("w", "host") + "]}",
       "w", preferred("podAntiAffinity", weighed(2, "x", "host")), "n2"},
  };
  for (const ScoreCase& one : cases) {
    SCOPED_TRACE(one.placed + " " + one.affinity);
    PluginBench bench;
    for (const auto& [name, zone] : {std::pair("n1", "a"), std::pair("n2", "a"), std::pair("n3", "b")})
      bench.put_node(name, R"("host":")" + std::string(name) + R"(","zone":")" + zone + "\"");
    bench.put_node("n4", "");
    bench.put_pod("placed", R"(,"labels":{"app":"x"})",
                  R"(,"nodeName":"n1","affinity":{)" + one.placed + "}");
    const api::Pod& pod = bench.put_pod("p", R"(,"labels":{"app":")" + one.labels + "\"}",
                                        R"(,"affinity":{)" + one.affinity + "}");
    EXPECT_EQ(bench.choose(pod), one.node);
    EXPECT_EQ(bench.choose_anew(pod), one.node);
  }
}

TEST(InterPodAffinity, APlacementJudgesItsOwnNodeAgain) {
  for (const char* key : {"zone", "host"}) {
    PluginBench bench;
    const JudgedNodes& judged = JudgedNodes::add_to(bench);
    put_300_nodes(bench);
    const std::string apart = with_terms("podAntiAffinity", term_for("x", key));
    const api::Pod& pod = bench.put_pod("w", R"(,"labels":{"app":"x"})", apart);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string chosen = bench.choose(pod);
      EXPECT_EQ(chosen, "n" + std::to_string(100 + (key == std::string("zone") ? 100 * i : i)));
      EXPECT_EQ(judged.judged, 300u + i);
      bench.put_pod("p" + std::to_string(i), R"(,"labels":{"app":"x"})",
                    R"(,"nodeName":")" + chosen + "\"" + apart);
    }
  }
}

TEST(InterPodAffinity, APreferenceJudgesTheNodeOfAPlacementAgain) {
  for (const char* key : {"zone", "host"}) {
    PluginBench bench;
    const JudgedNodes& judged = JudgedNodes::add_to(bench);
    put_300_nodes(bench);
    const api::Pod& pod =
        bench.put_pod("w", R"(,"labels":{"app":"x"})",
                      R"(,"affinity":{)" + preferred("podAntiAffinity", weighed(1, "x", key)) + "}");
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string chosen = bench.choose(pod);
      EXPECT_EQ(chosen, "n" + std::to_string(100 + (key == std::string("zone") ? 100 * i : i)));
      EXPECT_EQ(judged.judged, 300u + i);
      bench.put_pod("p" + std::to_string(i), R"(,"labels":{"app":"x"})", R"(,"nodeName":")" + chosen + "\"");
    }
  }
}

// While a key has few domains, best() compares them all; with more of them each would be a cell for good.
TEST(InterPodAffinity, APreferenceOfAKeyThatGetsManyDomainsStartsAgain) {
  PluginBench bench;
  const JudgedNodes& judged = JudgedNodes::add_to(bench);
  const auto put_host = [&](std::size_t i) {
    const std::string n = std::to_string(100 + i);
    bench.put_node("n" + n, R"("host":")" + n + "\"");
  };
  for (std::size_t i = 0; i < kCoarseDomainsMax; ++i) put_host(i);
  const api::Pod& pod =
      bench.put_pod("w", R"(,"labels":{"app":"x"})",
                    R"(,"affinity":{)" + preferred("podAntiAffinity", weighed(1, "x", "host")) + "}");
  EXPECT_EQ(bench.choose(pod), "n100");
  put_host(kCoarseDomainsMax);
  EXPECT_EQ(bench.choose(pod), "n100");
  EXPECT_EQ(judged.judged, kCoarseDomainsMax + kCoarseDomainsMax + 1);
  bench.put_pod("p", R"(,"labels":{"app":"x"})", R"(,"nodeName":"n100")");
  EXPECT_EQ(bench.choose(pod), "n101");
  EXPECT_EQ(judged.judged, kCoarseDomainsMax + kCoarseDomainsMax + 2);
}

// Pods of one kind with labels of their own, as a StatefulSet makes them, share verdicts and amounts.
TEST(InterPodAffinity, OtherLabelsAreNoOtherSignature) {
  PluginBench bench;
  const JudgedNodes& judged = JudgedNodes::add_to(bench);
  for (int i = 0; i < 50; ++i) bench.put_node("n" + std::to_string(10 + i), R"("zone":"a")");
  bench.put_pod("placed", "", R"(,"nodeName":"n10")" + with_terms("podAntiAffinity", term_for("x", "zone")));
  for (int i = 0; i < 5; ++i) {
    const std::string n = std::to_string(i);
    const api::Pod& pod = bench.put_pod("w" + n, R"(,"labels":{"app":"y","index":")" + n + "\"}");
    EXPECT_EQ(bench.choose(pod), "n11");
    EXPECT_EQ(judged.judged, 50u);
  }
}

}  // namespace
}  // namespace berth::placement
