// rooms: placement scheduling dra
// One decision, from the queue to the effects: gangs over 5,000 nodes, a pod with a claim at every fill
// level, and how both a known and a new pod signature grow with the cluster. Each turn takes the decision
// back, so that the next one sees the same cluster. Time passes between the turns, as between the decisions
// of a scheduler that has little to do: what it brings (the audit of the model, expired waits) is done in a
// turn of its own, outside of the measured time. The audit has a row of its own.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "dra/cel_selectors.h"
#include "scheduling/scheduler.h"
#include "watched_objects.h"

namespace berth::scheduling {
namespace {

enum class Expect { Place, No };

struct Bench {
  Time now = Time::from_seconds(1'800'000'000);
  client::View view;
  dra::CelSelectors selectors;
  DecisionCounts counts;
  Scheduler scheduler{{}, selectors, &counts};
  int version = 0;
  std::uint64_t turns = 0;

  void put(api::Kind kind, const std::string& meta, const std::string& rest) {
    scheduler.apply(view, put_object(view, version, kind, meta, rest), now);
  }
  void put_nodes(int count, int racks) {
    for (int i = 0; i < count; ++i) put_node(i, racks, 64);
  }
  void put_node(int i, int racks, int cpu) {
    const std::string n = std::to_string(i);
    put(api::Kind::Node,
        R"("name":"node-)" + n + R"(","uid":"n)" + n + R"(","labels":{"rack":"r)" +
            std::to_string(i % racks) + "\"}",
        R"("status":{"allocatable":{"cpu":")" + std::to_string(cpu) + R"(","memory":"256Gi","pods":"110"}})");
  }
  void put_pod(const std::string& name, const std::string& more, const std::string& cpu = "8") {
    put(api::Kind::Pod,
        R"("name":")" + name + R"(","namespace":"default","uid":"0000)" + name + R"(","generation":1)",
        R"("spec":{"schedulerName":"berth","containers":[{"name":"c",)"
        R"("resources":{"requests":{"cpu":")" +
            cpu + R"(","memory":"32Gi"}}}])" + more + "}");
  }
  // The first turn fills the queue and the caches: it is not measured.
  void begin(Expect expected = Expect::Place) { end_turn(scheduler.decide(view, now), expected); }
  void decide(benchmark::State& state, Expect expected = Expect::Place) {
    const client::Effects effects = scheduler.decide(view, now);
    benchmark::DoNotOptimize(effects.chains.data());
    state.PauseTiming();
    end_turn(effects, expected);
    state.ResumeTiming();
  }
  void audit(benchmark::State& state) {
    const client::Effects effects = scheduler.decide(view, now);
    state.PauseTiming();
    require(effects.chains.empty() && effects.events.empty() && effects.wake_at == now + kAuditEvery,
            effects);
    now = now + kAuditEvery;
    state.ResumeTiming();
  }
  // Does all that is due.
  void settle() {
    for (client::Effects effects = scheduler.decide(view, now); is_work(effects);
         effects = scheduler.decide(view, now))
      report(effects, Written::Yes);
  }

 private:
  enum class Written { Yes, No };

  static bool is_work(const client::Effects& effects) {
    return !effects.chains.empty() || !effects.events.empty();
  }
  static void require(bool is_right, const client::Effects& effects) {
    if (is_right) return;
    std::fprintf(stderr, "not what was expected:\n%s\n", client::to_text(effects).c_str());
    std::abort();
  }
  // Every turn is one decision, and the expected one. A placed entry comes back because its requests could
  // not be written; the condition of a refused one is written.
  void end_turn(const client::Effects& effects, Expect expected) {
    const bool place = expected == Expect::Place;
    const auto result = place ? DecisionResult::Placed : DecisionResult::Unschedulable;
    require(is_work(effects) && counts.count(result) == ++turns, effects);
    report(effects, place ? Written::No : Written::Yes);
    pass_until_due();
  }
  void report(const client::Effects& effects, Written written) {
    client::Outcome outcome{effects.decision_id, {}};
    for (const client::Chain& chain : effects.chains)
      outcome.chains.push_back({chain.key, written == Written::Yes, 0, {}});
    scheduler.on_outcome(view, outcome, now);
  }
  void pass_until_due() {
    const auto due = scheduler.queue().next_time();
    if (!due) std::abort();
    now = *due - Duration::micros(1);
    settle();
    now = *due;
  }
};

void gang(benchmark::State& state, int nodes, int racks, const char* topology) {
  Bench bench;
  bench.put_nodes(nodes, racks);
  bench.put(api::Kind::PodGroup, R"("name":"g","namespace":"default","uid":"ug")",
            std::string(R"("spec":{"schedulingPolicy":{"gang":{"minCount":4}})") + topology + "}");
  for (int i = 0; i < 4; ++i)
    bench.put_pod("p" + std::to_string(i), R"(,"schedulingGroup":{"podGroupName":"g"})");
  bench.begin();
  for (auto _ : state) bench.decide(state);
}

void GangOf4In50Racks5000Nodes(benchmark::State& state) {
  gang(state, 5000, 50, R"(,"schedulingConstraints":{"topology":[{"key":"rack"}]})");
}
void GangOf4Anywhere5000Nodes(benchmark::State& state) {
  gang(state, 5000, 50, "");
}

// Of 5,000 nodes only three take a member: no placement, with the proof. Unequal: no two members are alike.
void refused_gang(benchmark::State& state, bool unequal) {
  Bench bench;
  for (int i = 0; i < 5000; ++i) bench.put_node(i, 50, i % 1700 == 0 ? 12 : 4);
  bench.put(api::Kind::PodGroup, R"("name":"g","namespace":"default","uid":"ug")",
            R"("spec":{"schedulingPolicy":{"gang":{"minCount":4}}})");
  for (int i = 0; i < 4; ++i)
    bench.put_pod("p" + std::to_string(i), R"(,"schedulingGroup":{"podGroupName":"g"})",
                  std::to_string(unequal ? 8000 + i : 8000) + "m");
  bench.begin(Expect::No);
  for (auto _ : state) bench.decide(state, Expect::No);
}

void GangThatCannotFit5000Nodes(benchmark::State& state) {
  refused_gang(state, false);
}
void UnequalGangThatCannotFit5000Nodes(benchmark::State& state) {
  refused_gang(state, true);
}

// All nodes together take 100,000 members, or the last eight find no node.
void GangOf100000(benchmark::State& state) {
  constexpr int kMembersOfAll = 100'000, kMembersOfANode = 8;
  const bool fits = state.range(0) != 0;
  const Expect expected = fits ? Expect::Place : Expect::No;
  Bench bench;
  bench.put_nodes(kMembersOfAll / kMembersOfANode - (fits ? 0 : 1), 50);
  bench.put(api::Kind::PodGroup, R"("name":"g","namespace":"default","uid":"ug")",
            R"("spec":{"schedulingPolicy":{"gang":{"minCount":)" + std::to_string(kMembersOfAll) + "}}}");
  for (int i = 0; i < kMembersOfAll; ++i)
    bench.put_pod("p" + std::to_string(i), R"(,"schedulingGroup":{"podGroupName":"g"})");
  bench.begin(expected);
  for (auto _ : state) bench.decide(state, expected);
}

// The members share a channel of one of 100 domains, each a rack's pool that its nodes reach.
void GangOf4SharesOneOf100Domains5000Nodes(benchmark::State& state) {
  constexpr int kDomains = 100;
  Bench bench;
  bench.put_nodes(5000, kDomains);
  bench.put(api::Kind::DeviceClass, R"("name":"channel","uid":"uc")",
            R"("spec":{"selectors":[{"cel":{"expression":"true"}}]})");
  for (int i = 0; i < kDomains; ++i) {
    const std::string n = std::to_string(i);
    const std::string meta = R"("name":"s)" + n + R"(","uid":"us)" + n + '"';
    const std::string selector =
        R"({"matchExpressions":[{"key":"rack","operator":"In","values":["r)" + n + R"("]}]})";
    bench.put(api::Kind::ResourceSlice, meta,
              R"("spec":{"driver":"channel.example.com","pool":{"name":"d)" + n +
                  R"(","generation":1,"resourceSliceCount":1},"nodeSelector":{"nodeSelectorTerms":[)" +
                  selector + R"(]},"devices":[{"name":"channel-0"}]})");
  }
  bench.put(api::Kind::ResourceClaim, R"("name":"shared","namespace":"default","uid":"us")",
            R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"channel"}}]}})");
  bench.put(api::Kind::PodGroup, R"("name":"g","namespace":"default","uid":"ug")",
            R"("spec":{"schedulingPolicy":{"gang":{"minCount":4}}})");
  for (int i = 0; i < 4; ++i)
    bench.put_pod("p" + std::to_string(i), R"(,"schedulingGroup":{"podGroupName":"g"},)"
                                           R"("resourceClaims":[{"name":"c","resourceClaimName":"shared"}])");
  bench.begin();
  for (auto _ : state) bench.decide(state);
}

constexpr int kDevices = 10;

void put_devices(Bench& bench, int nodes) {
  bench.put(api::Kind::DeviceClass, R"("name":"gpu","uid":"uc")",
            R"("spec":{"selectors":[{"cel":{"expression":"true"}}]})");
  for (int i = 0; i < nodes; ++i) {
    const std::string n = std::to_string(i);
    std::string devices;
    for (int d = 0; d < kDevices; ++d)
      devices += std::string(d == 0 ? "" : ",") + R"({"name":"gpu-)" + std::to_string(d) + "\"}";
    const std::string pool = R"("driver":"gpu.example.com","pool":{"name":"node-)" + n +
                             R"(","generation":1,"resourceSliceCount":1})";
    bench.put(api::Kind::ResourceSlice, R"("name":"s)" + n + R"(","uid":"us)" + n + "\"",
              R"("spec":{)" + pool + R"(,"nodeName":"node-)" + n + R"(","devices":[)" + devices + "]}");
  }
}

constexpr const char* kOneGpu =
    R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}})";

// The k-th bound pod: nodes in turn, so that all are about equally full.
void put_bound_pod(Bench& bench, int k, int nodes) {
  const std::string n = std::to_string(k), node = "node-" + std::to_string(k % nodes);
  const std::string result = R"({"request":"r","driver":"gpu.example.com","pool":")" + node +
                             R"(","device":"gpu-)" + std::to_string(k / nodes) + "\"}";
  bench.put(api::Kind::ResourceClaim,
            R"("name":"full-)" + n + R"(","namespace":"default","uid":"ufc)" + n + "\"",
            kOneGpu + std::string(R"(,"status":{"allocation":{"devices":{"results":[)") + result + "]}}}");
  bench.put(
      api::Kind::Pod, R"("name":"full-)" + n + R"(","namespace":"default","uid":"ufp)" + n + "\"",
      R"("spec":{"schedulerName":"berth","nodeName":")" + node +
          R"(","containers":[{"name":"c"}],"resourceClaims":[{"name":"dev","resourceClaimName":"full-)" + n +
          "\"}]}");
}

void put_waiting_pod(Bench& bench) {
  bench.put(api::Kind::ResourceClaim, R"("name":"c","namespace":"default","uid":"ucl")", kOneGpu);
  bench.put_pod("p", R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c"}])");
}

// B1, B2: one device of 500 nodes of ten; the argument is how many of the 5,000 are taken. When all are, the
// answer is why.
void PodWithClaim500Nodes(benchmark::State& state) {
  const int nodes = 500, taken = static_cast<int>(state.range(0));
  Bench bench;
  bench.put_nodes(nodes, 10);
  put_devices(bench, nodes);
  for (int k = 0; k < taken; ++k) put_bound_pod(bench, k, nodes);
  put_waiting_pod(bench);
  const Expect expected = taken < nodes * kDevices ? Expect::Place : Expect::No;
  bench.begin(expected);
  for (auto _ : state) bench.decide(state, expected);
}

// Growth: the signature is known; since the last decision one node changed (the one that was taken back) and
// as many as the second argument says.
void WarmPodWithClaim(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0)), changed = static_cast<int>(state.range(1));
  Bench bench;
  bench.put_nodes(nodes, 10);
  put_devices(bench, nodes);
  put_waiting_pod(bench);
  bench.begin();
  int cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < changed; ++i) bench.put_node(i * (nodes / changed), 10, 32 + cpu++ % 32);
    state.ResumeTiming();
    bench.decide(state, Expect::Place);
  }
}

// Growth: every signature is new, because no two pods ask for the same.
void ColdPod(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  Bench bench;
  bench.put_nodes(nodes, 10);
  bench.put_pod("p", "", "999m");
  bench.begin();
  int cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    bench.put_pod("p", "", std::to_string(1000 + cpu++ % 5000) + "m");
    state.ResumeTiming();
    bench.decide(state, Expect::Place);
  }
}

// A cluster whose nodes come and go, and pods of different signatures that are placed nowhere.
class Changing {
 public:
  Changing(int nodes, std::size_t signatures, const std::string& spec = "",
           std::size_t cache_bytes = placement::kSignatureBytesMax)
      : cache_(cycle_, domains_, cache_bytes) {
    for (int i = 0; i < nodes; ++i) apply(node(i), true);
    for (std::size_t i = 0; i < signatures; ++i) {
      const std::string n = std::to_string(i);
      const std::string text = R"({"metadata":{"name":"p)" + n + R"(","namespace":"default","uid":"u)" + n +
                               R"(","labels":{"app":"x"}},"spec":{"containers":[)" +
                               R"({"name":"c","resources":{"requests":{"cpu":")" + std::to_string(1000 + i) +
                               "m\"}}}]" + spec + "}}";
      auto pod = api::decode_typed(api::Kind::Pod, std::make_shared<const std::string>(text));
      cluster_.apply({{api::Kind::Pod, "default", "p" + n, {}}, std::nullopt, *pod});
      pods_.push_back(*pod);
    }
    for (int i = 0; i < kChanging; ++i) changing_.push_back(node(i * (nodes / kChanging)));
    for (int i = kChanging / 2; i < kChanging; ++i) apply(changing_[static_cast<std::size_t>(i)], false);
    choose_all();
  }
  // A node leaves; the next time another one, which left long ago, joins.
  void change() {
    const bool joins = changes_ % 2 == 1;
    const std::size_t i = changes_++ / 2 + (joins ? kChanging / 2 : 0);
    apply(changing_[i % kChanging], joins);
  }
  void choose_all() {
    for (std::size_t i = 0; i < pods_.size(); ++i) choose(i);
  }
  void choose_next(std::size_t turn) { choose(turn % pods_.size()); }
  // Places the first pod, looks where the second one goes then, and takes the first one back.
  void place_one() {
    model::Ledger::Transaction transaction(cluster_.ledger());
    if (!cycle_.reserve(state_, choose(0), transaction)) std::abort();
    choose(1);
  }

 private:
  static constexpr int kChanging = 1000;

  model::NodeId choose(std::size_t i) {
    cycle_.begin(state_, context_, *std::get<std::shared_ptr<const api::Pod>>(pods_[i]), nullptr);
    const model::NodeId node = cache_.choose(state_, {});
    if (!node.valid()) std::abort();
    return node;
  }

  static api::TypedObject node(int i) {
    const std::string text = R"({"metadata":{"name":"node-)" + std::to_string(i) +
                             R"(","labels":{"host":"h)" + std::to_string(i) + R"(","zone":"z)" +
                             std::to_string(i % 3) +
                             R"("}},"status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}}})";
    return *api::decode_typed(api::Kind::Node, std::make_shared<const std::string>(text));
  }
  void apply(const api::TypedObject& node, bool joins) {
    const api::ObjectKey key{api::Kind::Node, "", api::meta_of(node).name, {}};
    cluster_.apply(joins ? client::Delta{key, std::nullopt, node} : client::Delta{key, node, std::nullopt});
  }

  client::View view_;
  dra::CelSelectors selectors_;
  SeededRandom random_{1};
  model::Cluster cluster_;
  dra::Allocator allocator_{cluster_, selectors_, random_};
  const SchedulingContext context_{view_, cluster_, allocator_};
  const placement::Profiles profiles_{placement::default_plugins()};
  placement::DomainIndex domains_;
  const placement::PodCycle cycle_{profiles_, domains_};
  placement::SignatureCache cache_;
  placement::CycleState state_;
  std::vector<api::TypedObject> pods_, changing_;
  std::size_t changes_ = 0;
};

// A node joins or leaves, and every known signature is asked for its best node; or none changes.
void NodeJoinsOrLeaves32Signatures(benchmark::State& state) {
  Changing bench(static_cast<int>(state.range(0)), 32);
  const bool changes = state.range(1) != 0;
  for (auto _ : state) {
    if (changes) bench.change();
    bench.choose_all();
  }
}

// As many ReplicaSets take turns; after each turn a node joins or leaves. With a cache of so many MiB.
void SignaturesTakeTurns5000Nodes(benchmark::State& state) {
  Changing bench(5000, static_cast<std::size_t>(state.range(0)), "",
                 static_cast<std::size_t>(state.range(1)) << 20);
  std::size_t turn = 0;
  for (auto _ : state) {
    bench.change();
    bench.choose_next(turn++);
  }
}

// Two pods of one kind that are spread over three zones: the placement of the first refuses its zone to the
// second.
void SpreadOver3Zones(benchmark::State& state) {
  Changing bench(static_cast<int>(state.range(0)), 2,
                 R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone",)"
                 R"("whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"x"}}}])");
  for (auto _ : state) bench.place_one();
}
// The same as a preference.
void PreferredSpreadOver3Zones(benchmark::State& state) {
  Changing bench(static_cast<int>(state.range(0)), 2,
                 R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone",)"
                 R"("whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"x"}}}])");
  for (auto _ : state) bench.place_one();
}

// Two pods that keep apart, by host or by zone: the placement of the first refuses its domain to the second.
// Or they would rather be apart: it lowers the score of its domain.
void anti_affinity(benchmark::State& state, const std::string& terms) {
  Changing bench(static_cast<int>(state.range(0)), 2, R"(,"affinity":{"podAntiAffinity":{)" + terms + "}}");
  for (auto _ : state) bench.place_one();
}
std::string term_by(const std::string& key) {
  return R"({"topologyKey":")" + key + R"(","labelSelector":{"matchLabels":{"app":"x"}}})";
}
std::string required_by(const std::string& key) {
  return R"("requiredDuringSchedulingIgnoredDuringExecution":[)" + term_by(key) + "]";
}
std::string preferred_by(const std::string& key) {
  return R"("preferredDuringSchedulingIgnoredDuringExecution":[{"weight":10,"podAffinityTerm":)" +
         term_by(key) + "}]";
}
void AntiAffinityByHost(benchmark::State& state) {
  anti_affinity(state, required_by("host"));
}
void AntiAffinityByZone(benchmark::State& state) {
  anti_affinity(state, required_by("zone"));
}
void PreferredAntiAffinityByHost(benchmark::State& state) {
  anti_affinity(state, preferred_by("host"));
}
void PreferredAntiAffinityByZone(benchmark::State& state) {
  anti_affinity(state, preferred_by("zone"));
}

// What the comparison of the model with the live objects costs: one look at kAuditRows rows, and a second of
// it. The cluster has a pool of ten devices and a bound pod with a claim on each node; the looks pass over
// all kinds of rows in turn.
void AuditOfTheModel(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  Bench bench;
  bench.put_nodes(nodes, 10);
  put_devices(bench, nodes);
  for (int k = 0; k < nodes; ++k) put_bound_pod(bench, k, nodes);
  bench.settle();
  bench.now = bench.now + kAuditEvery;
  for (auto _ : state) bench.audit(state);
  state.counters["a_second"] = benchmark::Counter(
      static_cast<double>(kAuditEvery.millis()) / 1000 * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The core alone, without queue and effects: nothing is committed.
struct CoreBench {
  client::View view;
  dra::CelSelectors selectors;
  model::Cluster cluster;
  DecisionCore core{cluster, selectors, {}};
  int version = 0;

  explicit CoreBench(int nodes) {
    for (int i = 0; i < nodes; ++i) {
      const std::string n = std::to_string(i);
      put(api::Kind::Node, R"("name":"node-)" + n + "\"",
          R"("status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}})");
    }
    put_pod("waiting", "");
  }
  void put(api::Kind kind, const std::string& meta, const std::string& rest) {
    cluster.apply(put_object(view, version, kind, meta, rest));
  }
  void put_pod(const std::string& name, const std::string& node) {
    put(api::Kind::Pod, R"("name":")" + name + R"(","namespace":"default","uid":"u)" + name + '"',
        R"("spec":{"nodeName":")" + node +
            R"(","containers":[{"name":"c","resources":{"requests":{"cpu":"8","memory":"32Gi"}}}]})");
  }
  void decide() {
    const SchedulingContext context{view, cluster, core.allocator()};
    const api::Pod& pod = *view.pods.find("default", "waiting");
    model::Ledger::Transaction transaction(cluster.ledger());
    transaction.lift_holds(pod.priority, {});
    if (core.decide_pod(context, pod, {}, transaction).refusal) std::abort();
  }
};

// A decision of a lower priority while so many nodes are kept for a higher one.
void WarmPodBelowAHold(benchmark::State& state) {
  CoreBench bench(static_cast<int>(state.range(0)));
  model::Hold room{1, {}, {}, {}};
  for (std::uint32_t i = 0; i < state.range(1); ++i)
    room.places.push_back(
        {{model::NodeId(i), model::ResourceAmounts{{model::kCpu, 64'000}}, nullptr, {}, {}}, {}});
  const model::ScopedHold hold(bench.cluster.ledger(), std::move(room));
  bench.decide();
  for (auto _ : state) bench.decide();
}

void bind_one_pod_a_node(CoreBench& bench, int nodes) {
  for (int i = 0; i < nodes; ++i) bench.put_pod("bound-" + std::to_string(i), "node-" + std::to_string(i));
}

void try_without_bound_pods(CoreBench& bench, int nodes) {
  model::Ledger::Transaction transaction(bench.cluster.ledger());
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(nodes); ++i)
    bench.cluster.remove(model::PodId(i + 1), model::GroupClaims::Freed, transaction);
}

// A what-if without the pods of all nodes, undone.
void TrialOfAllNodes(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  CoreBench bench(nodes);
  bind_one_pod_a_node(bench, nodes);
  for (auto _ : state) try_without_bound_pods(bench, nodes);
}

// The decision after it. The trials are not measured and take most of the time, so their number is fixed.
constexpr int kTrials = 50;
void WarmPodAfterATrialOfAllNodes(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  CoreBench bench(nodes);
  bind_one_pod_a_node(bench, nodes);
  bench.decide();
  for (auto _ : state) {
    state.PauseTiming();
    try_without_bound_pods(bench, nodes);
    state.ResumeTiming();
    bench.decide();
  }
}

// A pod that fits nowhere and finds its victims: four pods on each node, and each has one device where
// `devices`.
void preemption(benchmark::State& state, bool devices) {
  const int nodes = static_cast<int>(state.range(0));
  constexpr int kPodsOfANode = 4;
  CoreBench bench(nodes);
  bench.put(api::Kind::DeviceClass, R"("name":"gpu","uid":"uc")",
            R"("spec":{"selectors":[{"cel":{"expression":"true"}}]})");
  for (int k = 0; k < kPodsOfANode * nodes; ++k) {
    const std::string n = std::to_string(k), node = "node-" + std::to_string(k % nodes);
    const std::string device = "gpu-" + std::to_string(k / nodes);
    if (devices && k < nodes)
      bench.put(api::Kind::ResourceSlice, R"("name":"s)" + n + "\"",
                R"("spec":{"driver":"gpu.example.com","nodeName":")" + node + R"(","pool":{"name":")" + node +
                    R"(","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0"},)"
                    R"({"name":"gpu-1"},{"name":"gpu-2"},{"name":"gpu-3"}]})");
    if (devices)
      bench.put(
          api::Kind::ResourceClaim, R"("name":"c)" + n + R"(","namespace":"default","uid":"uc)" + n + "\"",
          kOneGpu + std::string(R"(,"status":{"allocation":{"devices":{"results":[{"request":"r",)") +
              R"("driver":"gpu.example.com","pool":")" + node + R"(","device":")" + device +
              R"("}]}},"reservedFor":[{"resource":"pods","name":"b)" + n + R"(","uid":"ub)" + n + "\"}]}");
    bench.put(api::Kind::Pod, R"("name":"b)" + n + R"(","namespace":"default","uid":"ub)" + n + '"',
              R"("spec":{"nodeName":")" + node +
                  R"(","containers":[{"name":"c","resources":{"requests":{"cpu":")" + (devices ? "1" : "15") +
                  R"("}}}])" +
                  (devices ? R"(,"resourceClaims":[{"name":"d","resourceClaimName":"c)" + n + "\"}]" : "") +
                  R"(},"status":{"phase":"Running","startTime":"2026-01-01T00:00:)" +
                  std::to_string(10 + k % 50) + R"(Z"})");
  }
  bench.put(api::Kind::ResourceClaim, R"("name":"high","namespace":"default","uid":"uhc")", kOneGpu);
  bench.put(api::Kind::Pod, R"("name":"high","namespace":"default","uid":"uh")",
            R"("spec":{"priority":10,"containers":[{"name":"c","resources":{"requests":{"cpu":"8"}}}])" +
                std::string(devices ? R"(,"resourceClaims":[{"name":"d","resourceClaimName":"high"}])" : "") +
                "}");
  const auto decide = [&] {
    const SchedulingContext context{bench.view, bench.cluster, bench.core.allocator()};
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    const PodDecision decision = bench.core.decide_pod(context, *bench.view.pods.find("default", "high"), {},
                                                       transaction, {.searches = true});
    if (!decision.preemption || decision.preemption->victims.size() != 1) std::abort();
  };
  decide();
  for (auto _ : state) decide();
}
void Preemption(benchmark::State& state) {
  preemption(state, false);
}
void PreemptionForADevice(benchmark::State& state) {
  preemption(state, true);
}

constexpr int kPodsOfAFullNode = 4;

std::string gpu_claim(int count) {
  return R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)"
         R"("allocationMode":"ExactCount","count":)" +
         std::to_string(count) + "}}]}}";
}

std::string gpu_and_nic_claim() {
  return R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)"
         R"("allocationMode":"ExactCount","count":8}},{"name":"n","exactly":{"deviceClassName":"nic",)"
         R"("allocationMode":"ExactCount","count":8}}]}})";
}

// A member of spec.
std::string uses_claim(const std::string& claim, bool devices) {
  return devices ? R"(,"resourceClaims":[{"name":"d","resourceClaimName":")" + claim + "\"}]" : "";
}

// A node whose pods have all of it; with devices two of its eight each.
void put_full_node(CoreBench& bench, int i, bool devices) {
  const std::string node = "node-" + std::to_string(i);
  bench.put(api::Kind::Node, R"("name":")" + node + R"(","labels":{"rack":")" + std::to_string(i % 2) + "\"}",
            R"("status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}})");
  std::string names;
  for (int d = 0; d < 2 * kPodsOfAFullNode; ++d)
    names += std::string(d == 0 ? "" : ",") + R"({"name":"gpu-)" + std::to_string(d) + "\"}";
  if (devices)
    bench.put(api::Kind::ResourceSlice, R"("name":"s)" + node + "\"",
              R"("spec":{"driver":"gpu.example.com","nodeName":")" + node + R"(","pool":{"name":")" + node +
                  R"(","generation":1,"resourceSliceCount":1},"devices":[)" + names + "]}");
  for (int k = 0; k < kPodsOfAFullNode; ++k) {
    const std::string pod = "b" + std::to_string(i) + "-" + std::to_string(k);
    const auto result = [&](int d) {
      return R"({"request":"r","driver":"gpu.example.com","pool":")" + node + R"(","device":"gpu-)" +
             std::to_string(d) + "\"}";
    };
    if (devices)
      bench.put(api::Kind::ResourceClaim,
                R"("name":")" + pod + R"(","namespace":"default","uid":"c)" + pod + '"',
                gpu_claim(2) + R"(,"status":{"allocation":{"devices":{"results":[)" + result(2 * k) + "," +
                    result(2 * k + 1) + R"(]}},"reservedFor":[{"resource":"pods","name":")" + pod +
                    R"(","uid":"u)" + pod + "\"}]}");
    bench.put(api::Kind::Pod, R"("name":")" + pod + R"(","namespace":"default","uid":"u)" + pod + '"',
              R"("spec":{"nodeName":")" + node +
                  R"(","containers":[{"name":"c","resources":{"requests":{"cpu":"15"}}}])" +
                  uses_claim(pod, devices) +
                  R"(},"status":{"phase":"Running","startTime":"2026-01-01T00:00:)" +
                  std::to_string(10 + i % 50) + R"(Z"})");
  }
}

// A gang of 512 that needs whole nodes, in one of two racks of 2,500 nodes, all full.
void gang_preemption(benchmark::State& state, bool devices) {
  constexpr int kNodes = 5000, kMembers = 512;
  CoreBench bench(0);
  bench.put(api::Kind::DeviceClass, R"("name":"gpu","uid":"uc")",
            R"("spec":{"selectors":[{"cel":{"expression":"true"}}]})");
  for (int i = 0; i < kNodes; ++i) put_full_node(bench, i, devices);
  bench.put(api::Kind::PodGroup, R"("name":"g","namespace":"default","uid":"ug")",
            R"("spec":{"priority":10,"schedulingConstraints":{"topology":[{"key":"rack"}]},)"
            R"("schedulingPolicy":{"gang":{"minCount":512}}})");
  for (int i = 0; i < kMembers; ++i) {
    const std::string pod = "g" + std::to_string(i);
    if (devices)
      bench.put(api::Kind::ResourceClaim,
                R"("name":")" + pod + R"(","namespace":"default","uid":"c)" + pod + '"', gpu_claim(8));
    bench.put(api::Kind::Pod, R"("name":")" + pod + R"(","namespace":"default","uid":"u)" + pod + '"',
              R"("spec":{"priority":10,"schedulingGroup":{"podGroupName":"g"},)"
              R"("containers":[{"name":"c","resources":{"requests":{"cpu":"60"}}}])" +
                  uses_claim(pod, devices) + "}");
  }
  const placement::GroupQuestions questions{[](const api::Pod& pod) { return !pod.bound(); },
                                            [](const std::string&) { return false; },
                                            [](const std::string&) { return false; }};
  const auto decide = [&] {
    const SchedulingContext context{bench.view, bench.cluster, bench.core.allocator()};
    const GroupInput input =
        placement::group_input(*bench.view.pod_groups.find("default", "g"),
                               placement::group_members(bench.view, bench.cluster, questions, "default", "g"),
                               [](const api::Pod&) { return AvoidSet{}; });
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    const GroupOutcome outcome = bench.core.decide_group(context, input, transaction, {.searches = true});
    if (!outcome.preemption || outcome.preemption->victims.size() != kMembers * kPodsOfAFullNode)
      std::abort();
  };
  decide();
  for (auto _ : state) decide();
}
void GangPreemption(benchmark::State& state) {
  gang_preemption(state, false);
}
void GangPreemptionForDevices(benchmark::State& state) {
  gang_preemption(state, true);
}

// Eight devices of one kind on a node.
void put_devices(CoreBench& bench, const std::string& node, const std::string& kind,
                 const std::string& driver) {
  std::string names;
  for (int d = 0; d < 8; ++d)
    names += (d == 0 ? R"({"name":")" : R"(,{"name":")") + kind + "-" + std::to_string(d) +
             R"(","attributes":{"kind":{"string":")" + kind + "\"}}}";
  bench.put(api::Kind::ResourceSlice, R"("name":"s)" + kind + node + "\"",
            R"("spec":{"driver":")" + driver + R"(.example.com","nodeName":")" + node +
                R"(","pool":{"name":")" + (kind == driver ? node : kind + node) +
                R"(","generation":1,"resourceSliceCount":1},"devices":[)" + names + "]}");
}

// Of a kind that has a driver of its own, or that an attribute names.
void put_class_of(CoreBench& bench, const std::string& kind, bool by_driver) {
  const std::string selector = by_driver ? "device.driver == '" + kind + ".example.com'"
                                         : "device.attributes['gpu.example.com'].kind == '" + kind + "'";
  bench.put(api::Kind::DeviceClass, R"("name":")" + kind + R"(","uid":"uc)" + kind + "\"",
            R"("spec":{"selectors":[{"cel":{"expression":")" + selector + R"("}}]})");
}

// `claim`: the spec of its claim; empty: it has none.
void put_member(CoreBench& bench, GroupInput& input, int number, const std::string& claim) {
  const std::string pod = "g" + std::to_string(number);
  if (!claim.empty())
    bench.put(api::Kind::ResourceClaim,
              R"("name":")" + pod + R"(","namespace":"default","uid":"c)" + pod + '"', claim);
  bench.put(api::Kind::Pod, R"("name":")" + pod + R"(","namespace":"default","uid":"u)" + pod + '"',
            R"("spec":{"schedulingGroup":{"podGroupName":"g"},)"
            R"("containers":[{"name":"c","resources":{"requests":{"cpu":"8"}}}])" +
                uses_claim(pod, !claim.empty()) + "}");
  input.waiting.push_back(bench.view.pods.find("default", pod));
}

// The name of the i-th node, without devices.
std::string put_node_in_rack(CoreBench& bench, int i, int nodes_of_a_rack) {
  const std::string node = "node-" + std::to_string(i);
  bench.put(api::Kind::Node,
            R"("name":")" + node + R"(","labels":{"rack":"r)" + std::to_string(i / nodes_of_a_rack) + "\"}",
            R"("status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}})");
  return node;
}

api::PodGroup gang_of(int members) {
  api::PodGroup group;
  group.meta.ns = "default";
  group.meta.name = group.meta.uid = "g";
  group.gang_min = members;
  return group;
}

// A gang of 21 that must be in one rack, and each member takes all devices of a node: no rack has more than
// 20 nodes. Between the turns one device is taken or given back.
void GangThatFitsInNoRack100000Devices(benchmark::State& state) {
  constexpr int kNodes = 12'500, kNodesOfARack = 20;
  CoreBench bench(0);
  put_class_of(bench, "gpu", true);
  for (int i = 0; i < kNodes; ++i)
    put_devices(bench, put_node_in_rack(bench, i, kNodesOfARack), "gpu", "gpu");
  api::PodGroup group = gang_of(kNodesOfARack + 1);
  group.topology_keys = {"rack"};
  GroupInput input;
  input.group = &group;
  for (int i = 0; i <= kNodesOfARack; ++i) put_member(bench, input, i, gpu_claim(8));
  bool is_taken = false;
  const auto change = [&] {
    is_taken = !is_taken;
    const std::string status =
        R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.example.com",)"
        R"("pool":"node-7","device":"gpu-0"}]}}})";
    bench.put(api::Kind::ResourceClaim, R"("name":"other","namespace":"default","uid":"co")",
              kOneGpu + (is_taken ? status : ""));
  };
  const auto decide = [&] {
    const SchedulingContext context{bench.view, bench.cluster, bench.core.allocator()};
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    const GroupOutcome outcome = bench.core.decide_group(context, input, transaction);
    if (outcome.kind != GroupOutcome::Kind::Unschedulable || !outcome.refusal->group->proof) std::abort();
  };
  decide();
  for (auto _ : state) {
    state.PauseTiming();
    change();
    state.ResumeTiming();
    decide();
  }
}

// A gang that prefers a rack, on empty racks of a hundred nodes with eight devices each. With GPUs each
// member takes a whole node, so that no rack takes all. Nodes may have eight NICs too, which members ask for
// or not, and whose driver may be that of the GPUs.
enum class Gear : std::uint8_t { None, Gpus, GpusAndNics, GpusWithNics, OneDriver, OneDriverWithNics };
void wished_gang(benchmark::State& state, int nodes, int members, Gear gear) {
  CoreBench bench(0);
  const bool devices = gear != Gear::None;
  const bool by_driver = gear < Gear::OneDriver;
  const bool asks_nics = gear == Gear::GpusWithNics || gear == Gear::OneDriverWithNics;
  put_class_of(bench, "gpu", by_driver);
  put_class_of(bench, "nic", by_driver);
  for (int i = 0; i < nodes; ++i) {
    const std::string node = put_node_in_rack(bench, i, 100);
    if (devices) put_devices(bench, node, "gpu", "gpu");
    if (gear > Gear::Gpus) put_devices(bench, node, "nic", by_driver ? "nic" : "gpu");
  }
  const api::PodGroup group = gang_of(members);
  GroupInput input;
  input.group = &group;
  placement::GroupWish wish;
  wish.levels = {{"rack", "rack"}};
  wish.preferred = {0};
  input.wish = std::make_shared<const placement::GroupWish>(wish);
  for (int i = 0; i < members; ++i)
    put_member(bench, input, i, devices ? asks_nics ? gpu_and_nic_claim() : gpu_claim(8) : "");
  const auto domains = static_cast<std::size_t>(devices ? (members + 99) / 100 : 1);
  const auto decide = [&] {
    const SchedulingContext context{bench.view, bench.cluster, bench.core.allocator()};
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    const GroupOutcome outcome = bench.core.decide_group(context, input, transaction);
    if (!outcome.wish || outcome.wish->domains.size() != domains) std::abort();
  };
  decide();
  for (auto _ : state) decide();
}
template <Gear gear>
void GangWishes5000Nodes(benchmark::State& state) {
  wished_gang(state, 5000, 512, gear);
}
void GangOf4Wishes100000Nodes(benchmark::State& state) {
  wished_gang(state, 100'000, 4, Gear::None);
}

BENCHMARK(GangWishes5000Nodes<Gear::None>)->Name("GangWishes5000Nodes")->Unit(benchmark::kMillisecond);
BENCHMARK(GangWishes5000Nodes<Gear::Gpus>)
    ->Name("GangWishes5000NodesForDevices")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(GangWishes5000Nodes<Gear::GpusAndNics>)
    ->Name("GangWishes5000NodesBesideNics")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(GangWishes5000Nodes<Gear::GpusWithNics>)
    ->Name("GangWishes5000NodesWithNics")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(GangWishes5000Nodes<Gear::OneDriver>)
    ->Name("GangWishes5000NodesOfOneDriver")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(GangWishes5000Nodes<Gear::OneDriverWithNics>)
    ->Name("GangWishes5000NodesOfOneDriverWithNics")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(GangOf4Wishes100000Nodes)->Unit(benchmark::kMillisecond);
BENCHMARK(GangPreemption)->Unit(benchmark::kMillisecond);
BENCHMARK(GangPreemptionForDevices)->Unit(benchmark::kMillisecond);
BENCHMARK(Preemption)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(PreemptionForADevice)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(WarmPodBelowAHold)->ArgsProduct({{5000, 100000}, {0, 16}})->Unit(benchmark::kMicrosecond);
BENCHMARK(TrialOfAllNodes)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(WarmPodAfterATrialOfAllNodes)->Arg(100000)->Iterations(kTrials)->Unit(benchmark::kMicrosecond);
BENCHMARK(GangOf4In50Racks5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(GangOf4Anywhere5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(GangOf100000)->Arg(1)->Arg(0)->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(GangThatCannotFit5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(UnequalGangThatCannotFit5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(GangThatFitsInNoRack100000Devices)->Unit(benchmark::kMicrosecond);
BENCHMARK(GangOf4SharesOneOf100Domains5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(PodWithClaim500Nodes)->Arg(0)->Arg(2500)->Arg(4990)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(WarmPodWithClaim)->ArgsProduct({{500, 5000, 50000}, {0, 16}})->Unit(benchmark::kMicrosecond);
BENCHMARK(ColdPod)->Arg(500)->Arg(5000)->Arg(50000)->Unit(benchmark::kMicrosecond);
BENCHMARK(NodeJoinsOrLeaves32Signatures)
    ->ArgsProduct({{5000, 100000}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);
// 6 MiB: 32 signatures, as long as that was the bound.
BENCHMARK(SignaturesTakeTurns5000Nodes)
    ->ArgsProduct({{32, 200, 600}, {6, 128}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(SpreadOver3Zones)->Arg(5000)->Arg(100000)->Unit(benchmark::kMicrosecond);
BENCHMARK(PreferredSpreadOver3Zones)->Arg(5000)->Arg(100000)->Unit(benchmark::kMicrosecond);
BENCHMARK(AntiAffinityByHost)->Arg(5000)->Arg(100000)->Unit(benchmark::kMicrosecond);
BENCHMARK(AntiAffinityByZone)->Arg(5000)->Arg(100000)->Unit(benchmark::kMicrosecond);
BENCHMARK(PreferredAntiAffinityByHost)->Arg(5000)->Arg(100000)->Unit(benchmark::kMicrosecond);
BENCHMARK(PreferredAntiAffinityByZone)->Arg(5000)->Arg(100000)->Unit(benchmark::kMicrosecond);
BENCHMARK(AuditOfTheModel)->Arg(5000)->Arg(100000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::scheduling
