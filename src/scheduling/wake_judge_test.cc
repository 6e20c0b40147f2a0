// No wake-up is lost: after random changes a scheduler that has just started, and so tries every pod, places
// none of those that wait in this one.
#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

constexpr std::uint64_t kWorlds = 150;
constexpr int kSteps = 60;

// Objects of few names, so that changes meet waiting pods.
class WakeWorld {
 public:
  explicit WakeWorld(std::uint64_t seed) : random_(seed) {
    bench.put_class("gpu", "true");
    bench.put_class("fast", "device.driver == 'fast.example.com'");
    for (int i = 0; i < 3; ++i) put_node();
  }

  void step() {
    switch (random_.below(14)) {
      case 0:
      case 1:
        return put_node();
      case 2:
        return bench.erase(api::Kind::Node, pick("n", 5));
      case 3:
        return bench.put_slice(pick("s", 3), pick("n", 5), static_cast<int>(random_.below(4)),
                               random_.below(2) == 0 ? "fast.example.com" : "gpu.example.com");
      case 4:
      case 5:
        return end_pod();
      case 6:
        return resize_pod();
      case 7:
        return relabel_pod();
      case 8:
        return put_volume();
      case 9:
        return label_namespace();
      default:
        return put_pod();
    }
  }

  // Lets every write be seen and every decided pod be bound.
  void settle() {
    for (int turn = 0; turn < 20; ++turn) {
      const std::size_t decisions = bench.decisions.records().size();
      bench.run();
      for (const auto& [name, pod] : std::map(bench.view.pods.all()))
        if (!pod->bound() && !bench.node_of(pod->meta.name).empty()) bind(*pod);
      bench.now = bench.now + Duration::seconds(11);
      bench.run();
      if (bench.decisions.records().size() == decisions) return;
    }
  }

  // What a scheduler places that knows nothing but the objects.
  std::string placed_afresh() const {
    DecisionList decisions;
    FakeSelectors selectors;
    Scheduler fresh({}, selectors, &decisions);
    const auto show = [&](api::Kind kind, const auto& indexer) {
      for (const auto& [name, object] : indexer.all())
        fresh.apply(bench.view, {{kind, object->meta.ns, object->meta.name, {}}, std::nullopt, object},
                    bench.now);
    };
    show(api::Kind::Node, bench.view.nodes);
    show(api::Kind::Namespace, bench.view.namespaces);
    show(api::Kind::DeviceClass, bench.view.classes);
    show(api::Kind::ResourceSlice, bench.view.slices);
    show(api::Kind::PersistentVolume, bench.view.volumes);
    show(api::Kind::PersistentVolumeClaim, bench.view.volume_claims);
    show(api::Kind::ResourceClaim, bench.view.claims);
    show(api::Kind::Pod, bench.view.pods);
    show(api::Kind::BindRequest, bench.view.bind_requests);
    for (int i = 0; i < 1000; ++i) {
      const client::Effects effects = fresh.decide(bench.view, bench.now);
      for (const DecisionRecord& record : decisions.records())
        if (record.result == DecisionResult::Placed) return record.name + " on " + record.placed[0].node;
      if (effects.chains.empty() && effects.events.empty()) return "";
      client::Outcome outcome{effects.decision_id, {}};
      for (const client::Chain& chain : effects.chains)
        outcome.chains.push_back({chain.key, true, chain.writes.size(), {}});
      fresh.on_outcome(bench.view, outcome, bench.now);
    }
    return "the fresh scheduler does not come to rest";
  }

  std::string log;
  TestBench bench;

 private:
  std::string pick(const std::string& prefix, std::uint64_t count) {
    return prefix + std::to_string(random_.below(count));
  }
  bool sometimes(std::uint64_t one_in) { return random_.below(one_in) == 0; }

  void put_node() {
    NodeSpec node{pick("n", 5), std::to_string(1 + random_.below(4)), "8Gi",
                  std::to_string(2 + random_.below(4))};
    node.labels = {{"zone", pick("z", 2)}};
    if (sometimes(3)) node.labels["disk"] = "ssd";
    if (sometimes(4))
      node.spec = R"({"taints":[{"key":")" + pick("k", 2) + R"(","effect":"NoSchedule"}]})";
    else if (sometimes(5))
      node.spec = R"({"unschedulable":true})";
    if (sometimes(4)) node.allocatable = R"(,"example.com/x":"2")";
    log += "node " + node.name + " ";
    bench.put_node(node);
  }

  std::string term() {
    return R"({"labelSelector":{"matchLabels":{"app":")" + pick("a", 2) + R"("}},)" +
           (sometimes(4) ? R"("namespaceSelector":{"matchLabels":{"team":"t0"}},)" : "") +
           R"("topologyKey":")" + (sometimes(2) ? "zone" : "kubernetes.io/hostname") + "\"}";
  }

  void put_pod() {
    const std::string name = "p" + std::to_string(++pods_);
    std::string spec;
    if (sometimes(5)) spec += R"(,"nodeSelector":{"disk":"ssd"})";
    if (sometimes(4)) spec += R"(,"tolerations":[{"key":"k0","operator":"Exists"}])";
    if (sometimes(4))
      spec += R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
              term() + "]}}";
    else if (sometimes(4))
      spec += R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + term() +
              "]}}";
    if (sometimes(5))
      spec += R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone",)" +
              std::string(R"("whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":")") +
              pick("a", 2) + "\"}}}]";
    if (sometimes(6)) {
      bench.put_claim(name, sometimes(2) ? "gpu" : "fast", 1 + static_cast<int>(random_.below(2)));
      spec += R"(,"resourceClaims":[{"name":"d","resourceClaimName":")" + name + R"("}])";
    } else if (sometimes(5)) {
      spec += R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + pick("v", 2) + R"("}}])";
    }
    if (sometimes(6)) spec += R"(,"priority":)" + std::to_string(random_.below(3));
    if (!sometimes(4)) spec += R"(,"preemptionPolicy":"Never")";
    const std::string resources = R"({"requests":{"cpu":")" + std::to_string(1 + random_.below(3)) + "\"" +
                                  (sometimes(6) ? R"(,"example.com/x":"1")" : "") + "}}";
    const std::string ports = sometimes(5) ? R"(,"ports":[{"hostPort":)" + pick("8", 2) + "}]" : "";
    log += "pod " + name + spec + resources + ports + " ";
    bench.put(api::Kind::Pod,
              R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-)" + name +
                  R"(","generation":1,"labels":{"app":")" + pick("a", 2) +
                  R"("}},"spec":{"schedulerName":"berth","containers":[{"name":"c","resources":)" +
                  resources + ports + "}]" + spec + R"(},"status":{"phase":"Pending"}})");
  }

  // A bound pod, or none.
  const api::Pod* bound_pod() {
    std::vector<const api::Pod*> bound;
    for (const auto& [name, pod] : bench.view.pods.all())
      if (pod->bound()) bound.push_back(pod.get());
    return bound.empty() ? nullptr : bound[random_.below(bound.size())];
  }
  void end_pod() {
    const api::Pod* pod = bound_pod();
    if (!pod) return;
    const std::string name = pod->meta.name;
    log += "end " + name + " ";
    bench.erase(api::Kind::Pod, name);
    if (bench.view.claims.find("default", name)) bench.erase(api::Kind::ResourceClaim, name);
  }
  template <class Change>
  void change_pod(Change change) {
    const api::Pod* pod = bound_pod();
    if (!pod) return;
    log += "change " + pod->meta.name + " ";
    Json object = *parse_json(*pod->raw);
    change(object);
    bench.put_json(api::Kind::Pod, std::move(object));
  }
  void resize_pod() {
    change_pod([](Json& pod) {
      pod["metadata"]["generation"] = 2;
      pod["spec"]["containers"].as_array()[0]["resources"]["requests"]["cpu"] = "100m";
    });
  }
  void relabel_pod() {
    change_pod([&](Json& pod) {
      if (sometimes(3))
        pod["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z";
      else
        pod["metadata"]["labels"]["app"] = pick("a", 2);
    });
  }
  void put_volume() {
    const std::string n = pick("v", 2);
    log += "volume " + n + " ";
    bench.put(
        api::Kind::PersistentVolume,
        R"({"metadata":{"name":")" + n + R"(","labels":{"topology.kubernetes.io/zone":"z"}},"spec":)" +
            R"({"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"nodeAffinity":{"required":)" +
            R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":[")" +
            pick("z", 2) + R"("]}]}]}}}})");
    bench.put(
        api::Kind::PersistentVolumeClaim,
        R"({"metadata":{"name":")" + n +
            R"(","namespace":"default","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":)" +
            R"({"accessModes":[")" + (sometimes(2) ? "ReadWriteOncePod" : "ReadWriteOnce") +
            R"("],"volumeName":")" + n + R"("},"status":{"phase":"Bound"}})");
  }
  void label_namespace() {
    bench.put(api::Kind::Namespace,
              R"({"metadata":{"name":"default","labels":{"team":")" + pick("t", 2) + R"("}}})");
  }
  void bind(const api::Pod& pod) {
    const std::string name = pod.meta.name;
    bench.bind(name);
    const auto requests = bench.view.bind_requests_of_pod("default", name);
    for (const auto& request : std::vector(requests.begin(), requests.end())) {
      for (const api::ClaimAllocation& one : request->claims) allocate(one, name);
      bench.erase(api::Kind::BindRequest, request->meta.name);
    }
  }
  // As the binder writes it; the pod's own claim.
  void allocate(const api::ClaimAllocation& one, const std::string& pod) {
    Json claim = *parse_json(*bench.view.claims.find("default", one.claim_name)->raw);
    claim["status"]["allocation"] = api::to_json(one.allocation);
    claim["status"]["reservedFor"] =
        *parse_json(R"([{"resource":"pods","name":")" + pod + R"(","uid":"uid-)" + pod + "\"}]");
    bench.put_json(api::Kind::ResourceClaim, std::move(claim));
  }

  SeededRandom random_;
  int pods_ = 0;
};

class NoWakeUpIsLost : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NoWakeUpIsLost, WhateverChanges) {
  std::size_t waited = 0;
  for (std::uint64_t seed = GetParam() * kWorlds; seed < (GetParam() + 1) * kWorlds; ++seed) {
    WakeWorld world(seed);
    for (int i = 0; i < kSteps; ++i) {
      world.step();
      if (i % 6 != 5) continue;
      world.settle();
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
      // Room that is kept for another pod is not free; who started just now does not know of it.
      if (!world.bench.scheduler.cluster().ledger().holds().empty()) continue;
      waited += world.bench.scheduler.queue().unschedulable_count();
      const std::string found = world.placed_afresh();
      ASSERT_EQ(found, "") << "seed " << seed << ": "
                           << world.bench.message_of(found.substr(0, found.find(' '))) << "\n"
                           << world.log;
    }
  }
  EXPECT_GT(waited, kWorlds) << "pods wait in these worlds";
}
INSTANTIATE_TEST_SUITE_P(Shards, NoWakeUpIsLost, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace berth::scheduling
