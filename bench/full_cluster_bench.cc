// rooms: placement scheduling dra api
// Large clusters that are full of pods: what one pod more costs on 100,000 nodes with a million pods, and how
// long a scheduler takes from the bytes of all objects to its first decision.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "api/protobuf_encode.h"
#include "dra/cel_selectors.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

constexpr int kNodes = 100'000, kPodsOfANode = 10;

constexpr const char* kOverZones =
    R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
    R"("labelSelector":{"matchLabels":{"app":"x"}}}])";

// A million pods with the label app=x, in three zones; nothing is ever committed.
class FullCluster {
 public:
  FullCluster() {
    for (int i = 0; i < kNodes; ++i) {
      const std::string n = std::to_string(i), node = "node-" + n;
      put(api::Kind::Node, R"({"metadata":{"name":")" + node + R"(","labels":{"zone":"z)" +
                               std::to_string(i % 3) +
                               R"("}},"status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}}})");
      for (int p = 0; p < kPodsOfANode; ++p) put_pod(n + "-" + std::to_string(p), "1", node, "");
    }
  }
  std::shared_ptr<const api::Pod> put_pod(const std::string& name, const std::string& cpu,
                                          const std::string& node, const std::string& more) {
    return std::get<std::shared_ptr<const api::Pod>>(
        put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"u)" + name +
                                R"(","labels":{"app":"x"}},"spec":{)" +
                                (node.empty() ? "" : R"("nodeName":")" + node + "\",") +
                                R"("containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                                R"(","memory":"1Gi"}}}])" + more + R"(},"status":{"phase":"Running"}})"));
  }
  model::NodeId choose(const api::Pod& pod) {
    cycle_.begin(state_, context_, pod, nullptr);
    const model::NodeId node = cache_.choose(state_, {});
    if (!node.valid()) std::abort();
    return node;
  }
  // Places the pod, looks where the next one goes, and takes the pod back.
  void place(const api::Pod& pod, const api::Pod& next) {
    model::Ledger::Transaction transaction(cluster_.ledger());
    const model::NodeId node = choose(pod);
    if (!cycle_.reserve(state_, node, transaction)) std::abort();
    choose(next);
  }

 private:
  api::TypedObject put(api::Kind kind, const std::string& text) {
    auto typed = *api::decode_typed(kind, std::make_shared<const std::string>(text), api::Text::Drop);
    const api::ObjectMeta& meta = api::meta_of(typed);
    cluster_.apply({{kind, meta.ns, meta.name, {}}, std::nullopt, typed});
    return typed;
  }

  client::View view_;
  dra::CelSelectors selectors_;
  SeededRandom random_{1};
  model::Cluster cluster_;
  dra::Allocator allocator_{cluster_, selectors_, random_};
  const placement::SchedulingContext context_{view_, cluster_, allocator_};
  placement::Profiles profiles_{placement::default_plugins()};
  placement::DomainIndex domains_;
  placement::PodCycle cycle_{profiles_, domains_};
  placement::SignatureCache cache_{cycle_, domains_};
  placement::CycleState state_;
};

// Built once: it takes some seconds, and all rows leave it as it is but for pods that wait.
FullCluster& full_cluster() {
  static FullCluster cluster;
  return cluster;
}

void one_more_pod(benchmark::State& state, const char* more) {
  FullCluster& cluster = full_cluster();
  const auto pod = cluster.put_pod("first", "1", "", more), next = cluster.put_pod("second", "1", "", more);
  cluster.place(*pod, *next);
  for (auto _ : state) cluster.place(*pod, *next);
}
void PlainPodBesideAMillion(benchmark::State& state) {
  one_more_pod(state, "");
}
void SpreadPodBesideAMillion(benchmark::State& state) {
  one_more_pod(state, kOverZones);
}

void cold_pod(benchmark::State& state, const char* more) {
  FullCluster& cluster = full_cluster();
  int cpu = 1000;
  for (auto _ : state) {
    state.PauseTiming();
    const auto pod = cluster.put_pod("cold", std::to_string(cpu++) + "m", "", more);
    state.ResumeTiming();
    cluster.choose(*pod);
  }
}
void ColdPodBesideAMillion(benchmark::State& state) {
  cold_pod(state, "");
}
void ColdSpreadPodBesideAMillion(benchmark::State& state) {
  cold_pod(state, kOverZones);
}

// A restart: 5,000 nodes of eight devices, 150,000 pods that run, of which 20,000 have a device, and one that
// waits for one.
struct Bytes {
  api::Kind kind;
  api::RawPtr raw;
};

class Objects {
 public:
  Objects() {
    add(api::Kind::DeviceClass,
        R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu",$},"spec":)"
        R"({"selectors":[{"cel":{"expression":"device.driver == 'gpu.example.com'"}}]}})");
    for (int i = 0; i < kRestartNodes; ++i) add_node(i);
    for (int i = 0; i < kRestartPods; ++i) add_pod(i);
    add_claim("waiting", "");
    add(api::Kind::Pod, pod_text("waiting", "",
                                 R"(,"resourceClaims":[{"name":"gpu","resourceClaimName":)"
                                 R"("waiting"}])"));
  }
  const std::vector<Bytes>& all() const { return all_; }

 private:
  static constexpr int kRestartNodes = 5000, kRestartPods = 150'000, kPodsWithDevice = 20'000,
                       kDevicesOfANode = 8;

  // `text`: with a `$` where the version belongs.
  void add(api::Kind kind, std::string text) {
    text.replace(text.find('$'), 1, R"("resourceVersion":")" + std::to_string(++version_) + '"');
    Result<std::string> body = api::encode_protobuf_body(text, api::Unnumbered::Refuse);
    if (!body) {
      std::fprintf(stderr, "full_cluster_bench: %s\n", body.error().message().c_str());
      std::abort();
    }
    all_.push_back({kind, std::make_shared<const std::string>(*std::move(body))});
  }
  void add_node(int i) {
    const std::string n = std::to_string(i);
    add(api::Kind::Node, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-)" + n +
                             R"(","uid":"node-uid-)" + n + R"(","labels":{"kubernetes.io/hostname":"node-)" +
                             n + R"(","topology.kubernetes.io/zone":"zone-)" + std::to_string(i % 3) +
                             R"("},$},"status":{"allocatable":{"cpu":"128","memory":"1Ti","pods":"110"}}})");
    std::string devices;
    for (int d = 0; d < kDevicesOfANode; ++d)
      devices += std::string(d == 0 ? "" : ",") + R"({"name":"gpu-)" + std::to_string(d) +
                 R"(","attributes":{"model":{"string":"H100"},"index":{"int":)" + std::to_string(d) +
                 R"(}},"capacity":{"memory":{"value":"80Gi"}}})";
    add(api::Kind::ResourceSlice,
        R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"slice-)" + n +
            R"(","uid":"slice-uid-)" + n + R"(",$},"spec":{"driver":"gpu.example.com","nodeName":"node-)" +
            n + R"(","pool":{"name":"node-)" + n + R"(","generation":1,"resourceSliceCount":1},"devices":[)" +
            devices + "]}}");
  }
  void add_pod(int i) {
    const std::string name = "web-" + std::to_string(i), node = "node-" + std::to_string(i % kRestartNodes);
    const bool has_device = i < kPodsWithDevice;
    if (has_device)
      add_claim(name, R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":)"
                      R"("gpu.example.com","pool":")" +
                          node + R"(","device":"gpu-)" + std::to_string(i / kRestartNodes) +
                          R"("}]}},"reservedFor":[{"resource":"pods","name":")" + name +
                          R"(","uid":"pod-uid-)" + name + "\"}]}");
    add(api::Kind::Pod,
        pod_text(
            name, node,
            has_device ? R"(,"resourceClaims":[{"name":"gpu","resourceClaimName":")" + name + "\"}]" : ""));
  }
  void add_claim(const std::string& name, const std::string& status) {
    add(api::Kind::ResourceClaim,
        R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"default",)"
        R"("name":")" +
            name + R"(","uid":"claim-uid-)" + name +
            R"(",$},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)" +
            R"("allocationMode":"ExactCount","count":1}}]}})" + status + "}");
  }
  static std::string pod_text(const std::string& name, const std::string& node, const std::string& more) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":")" + name +
           R"(","uid":"pod-uid-)" + name +
           R"(","labels":{"app":"web","pod-template-hash":"5d4f8c7b9"},"ownerReferences":[{"apiVersion":)" +
           R"("apps/v1","kind":"ReplicaSet","name":"web-5d4f8c7b9","uid":"set-uid","controller":true}],$},)" +
           R"("spec":{"schedulerName":"berth",)" + (node.empty() ? "" : R"("nodeName":")" + node + "\",") +
           R"("serviceAccountName":"default","tolerations":[{"key":"node.kubernetes.io/not-ready",)" +
           R"("operator":"Exists","effect":"NoExecute"}],"containers":[{"name":"main","image":)" +
           R"("registry.example.com/web:1.2.3","env":[{"name":"MODE","value":"production"}],"resources":)" +
           R"({"requests":{"cpu":"100m","memory":"256Mi"},"limits":{"memory":"512Mi"}}}])" + more +
           R"(},"status":{"phase":")" + (node.empty() ? "Pending" : "Running") + "\"}}";
  }

  std::vector<Bytes> all_;
  int version_ = 0;
};

struct Restarted {
  client::View view;
  dra::CelSelectors selectors;
  DecisionCounts counts;
  Scheduler scheduler{{}, selectors, &counts};
};

void FirstDecisionAfterARestart(benchmark::State& state) {
  const Objects objects;
  const Time now = Time::from_seconds(1'800'000'000);
  for (auto _ : state) {
    auto process = std::make_unique<Restarted>();
    for (const Bytes& one : objects.all()) {
      const bool keeps = one.kind == api::Kind::ResourceClaim;
      auto typed = *api::decode_typed(one.kind, one.raw, keeps ? api::Text::Keep : api::Text::Drop);
      const api::ObjectMeta& meta = api::meta_of(typed);
      process->scheduler.apply(process->view, *process->view.put({one.kind, meta.ns, meta.name, {}}, typed),
                               now);
    }
    const client::Effects effects = process->scheduler.decide(process->view, now);
    if (process->counts.count(placement::DecisionResult::Placed) != 1) std::abort();
    state.PauseTiming();
    process.reset();
    state.ResumeTiming();
  }
}

BENCHMARK(FirstDecisionAfterARestart)->Unit(benchmark::kMillisecond);
BENCHMARK(PlainPodBesideAMillion)->Unit(benchmark::kMicrosecond);
BENCHMARK(SpreadPodBesideAMillion)->Unit(benchmark::kMicrosecond);
BENCHMARK(ColdPodBesideAMillion)->Iterations(20)->Unit(benchmark::kMillisecond);
BENCHMARK(ColdSpreadPodBesideAMillion)->Iterations(20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::scheduling
