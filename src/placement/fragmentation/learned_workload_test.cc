// The learned mix, and GpuFragmentation's choices by it: cached ones equal those that are made anew.
#include "placement/fragmentation/learned_workload.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "placement/plugins/gpu_fragmentation.h"
#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

using plugins::GpuWorkload;

struct GpuBench : PluginBench {
  void put_gpu_node(const std::string& name, int gpus, int cpus, const std::string& model,
                    const std::string& spec = "") {
    put(api::Kind::Node, R"({"metadata":{"name":")" + name + R"(","labels":{"model":")" + model +
                             R"("}},"spec":{)" + spec + R"(},"status":{"allocatable":{"cpu":")" +
                             std::to_string(cpus) + R"(","memory":"900Gi","pods":"500","nvidia.com/gpu":")" +
                             std::to_string(gpus) + "\"}}}");
  }
  // `gpus` whole GPUs, or a share of `fraction`. `spec`: more members: ,"nodeName":"a".
  const api::Pod& put_gpu_pod(const std::string& name, int cpus, int gpus, const std::string& fraction = "",
                              const std::string& spec = "", int created = 0) {
    const std::string annotations =
        fraction.empty() ? "" : R"(,"annotations":{"gpu-fraction":")" + fraction + "\"}";
    const std::string devices = gpus > 0 ? R"(,"nvidia.com/gpu":")" + std::to_string(gpus) + "\"" : "";
    put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
                            R"(","creationTimestamp":"2026-01-01T00:)" + two_digits(created / 60) + ":" +
                            two_digits(created % 60) + R"(Z")" + annotations +
                            R"(},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":")" +
                            std::to_string(cpus) + "\"" + devices + "}}}]" + spec + "}}");
    return *view.pods.find("ns", name);
  }
  static std::string two_digits(int n) { return (n < 10 ? "0" : "") + std::to_string(n); }
  // Pods that ran: a workload to learn from.
  void put_workload(int count, int cpus, int gpus, const std::string& fraction = "",
                    const std::string& spec = "") {
    for (int i = 0; i < count; ++i)
      put_gpu_pod("w" + std::to_string(workload_++), cpus, gpus, fraction, spec);
  }
  const LearnedWorkload& learned(const api::Pod& pod) {
    context.now = context.now + Duration::millis(1);  // a decision of its own
    begin(pod);
    EXPECT_TRUE(pods.prepare(state));
    return state.slots.read<GpuWorkload>().learned;
  }
  static std::string on_model(const std::string& model) {
    return R"(,"nodeSelector":{"model":")" + model + "\"}";
  }

 private:
  int workload_ = 0;
};

TEST(LearnedWorkload, KnowsNothingOfFewPods) {
  GpuBench bench;
  bench.put_gpu_node("a", 8, 64, "x");
  bench.put_workload(int{kWorkloadPodsMin} - 1, 8, 1);
  EXPECT_FALSE(bench.learned(bench.put_gpu_pod("c", 1, 0)).known()) << "pods without GPUs do not ask";
  EXPECT_TRUE(bench.learned(bench.put_gpu_pod("p", 8, 1)).known());
}

TEST(LearnedWorkload, CountsPodsThatAskForMoreThanAllNodesHave) {
  GpuBench bench;
  bench.put_gpu_node("a", 8, 64, "x");
  bench.put_gpu_node("b", 8, 64, "y");
  for (int i = 0; i < int{kWorkloadPodsMin}; ++i)
    bench.put(api::Kind::Pod, R"({"metadata":{"name":"huge)" + std::to_string(i) +
                                  R"(","namespace":"ns","uid":"huge)" + std::to_string(i) +
                                  R"("},"spec":{"containers":[{"name":"c","resources":{"requests":)"
                                  R"({"cpu":"9000000000000000","nvidia.com/gpu":"4611686018427387904"}}}])" +
                                  GpuBench::on_model("x") + "}}");
  const api::Pod& pod = bench.put_gpu_pod("p", 8, 1);
  const LearnedWorkload& learned = bench.learned(pod);
  ASSERT_TRUE(learned.known());
  const model::NodeId a = bench.cluster.find_node("a"), b = bench.cluster.find_node("b");
  const auto points_on = [&](model::NodeId node) {
    return learned.points_on(plugins::gpu_room_of(bench.cluster, node),
                             learned.affinities_of(bench.cluster, node), {{8000, 1, 100}, true});
  };
  EXPECT_LT(points_on(a), points_on(b)) << "the pods ask for the model of a";
}

TEST(LearnedWorkload, IsTheSameWhateverTheOrderOfArrival) {
  GpuBench forward, backward;
  for (int i = 0; i < 100; ++i) {
    const int j = 99 - i;
    forward.put_gpu_pod("p" + std::to_string(i), 1 + i % 3, 1 + i % 2, "", "", i);
    backward.put_gpu_pod("p" + std::to_string(j), 1 + j % 3, 1 + j % 2, "", "", j);
  }
  const api::Pod& a = *forward.view.pods.find("ns", "p0");
  const api::Pod& b = *backward.view.pods.find("ns", "p0");
  EXPECT_EQ(forward.learned(a).digest(), backward.learned(b).digest());
}

TEST(LearnedWorkload, KeepsItsMixUntilPodsAskForSomethingElse) {
  GpuBench bench;
  bench.put_gpu_node("a", 8, 64, "x");
  bench.put_workload(200, 8, 1);
  const api::Pod& pod = bench.put_gpu_pod("p", 8, 1);
  const std::uint64_t before = bench.learned(pod).digest();
  bench.put_workload(10, 8, 2);
  for (int i = 0; i < 300; ++i) bench.learned(pod);
  EXPECT_EQ(bench.learned(pod).digest(), before) << "5 % differ";
  bench.put_workload(40, 8, 2);
  for (int i = 0; i < 300; ++i) bench.learned(pod);
  EXPECT_NE(bench.learned(pod).digest(), before) << "20 % differ";
}

struct CountedGpus final : WorkloadDevices {
  bool may_ask(const model::PodRow& row) const override { return resource_gpus().may_ask(row); }
  GpuDemand demand_of(const SchedulingContext& context, const model::PodRow& row) const override {
    return resource_gpus().demand_of(context, row);
  }
  std::int64_t offered(const SchedulingContext& context, model::NodeId node) const override {
    ++nodes_read;
    return resource_gpus().offered(context, node);
  }
  mutable std::size_t nodes_read = 0;
};

TEST(LearnedWorkload, LooksOnceHoweverManyDomainsAMemberIsTriedOn) {
  GpuBench bench;
  bench.put_gpu_node("a", 8, 64, "x");
  bench.put_workload(200, 8, 1);
  const CountedGpus gpus;
  LearnedWorkload learned;
  for (int domain = 0; domain < 1000; ++domain)
    for (const char* member : {"w0", "w1", "w2"})
      learned.pod_arrives(bench.context, bench.cluster.find_pod("ns", member), gpus);
  EXPECT_EQ(gpus.nodes_read, 1u);
}

TEST(LearnedWorkload, RemembersABoundedNumberOfArrivals) {
  GpuBench bench;
  bench.put_gpu_node("a", 8, 64, "x");
  bench.put_workload(200, 8, 1);
  const CountedGpus gpus;
  LearnedWorkload learned;
  const auto arrive = [&](std::size_t pods) {
    for (std::uint32_t i = 0; i < pods; ++i) learned.pod_arrives(bench.context, model::PodId(i), gpus);
    return gpus.nodes_read;
  };
  const std::size_t first = arrive(kArrivalsKeptMax);
  EXPECT_GT(arrive(200), first) << "they count again";
}

TEST(GpuFragmentation, KeepsWholeGpusForPodsThatNeedThem) {
  GpuBench bench;
  bench.put_gpu_node("a", 2, 64, "x");
  bench.put_gpu_node("b", 2, 64, "x");
  bench.put_workload(80, 4, 2);
  bench.put_gpu_pod("running", 4, 1, "", R"(,"nodeName":"b")");
  EXPECT_EQ(bench.choose(bench.put_gpu_pod("p", 4, 1)), "b") << "a stays whole for pods of two GPUs";
}

TEST(GpuFragmentation, KeepsAnyModelPodsOffScarceModels) {
  GpuBench bench;
  bench.put_gpu_node("a", 4, 64, "scarce");
  bench.put_gpu_node("b", 4, 64, "plain");
  bench.put_workload(40, 4, 1, "", GpuBench::on_model("scarce"));
  bench.put_workload(40, 4, 1);
  EXPECT_EQ(bench.choose(bench.put_gpu_pod("p", 4, 1)), "b");
}

TEST(GpuFragmentation, KeepsPodsWithoutGpusOffNodesWithThem) {
  GpuBench bench;
  bench.put_gpu_node("a", 4, 32, "x");
  bench.put_node("b", "");
  bench.put_workload(80, 8, 1);
  bench.put_gpu_pod("p", 8, 1);
  bench.learned(*bench.view.pods.find("ns", "p"));
  EXPECT_EQ(bench.choose(bench.put_gpu_pod("c", 2, 0)), "b");
}

TEST(GpuFragmentation, LeavesPreferencesAboveItself) {
  GpuBench bench;
  bench.put_gpu_node("a", 2, 64, "x");
  bench.put_gpu_node("b", 2, 64, "y");
  bench.put_workload(80, 4, 2);
  bench.put_gpu_pod("running", 4, 1, "", R"(,"nodeName":"b")");
  const std::string prefers_a =
      R"(,"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,)"
      R"("preference":{"matchExpressions":[{"key":"model","operator":"In","values":["x"]}]}}]}})";
  EXPECT_EQ(bench.choose(bench.put_gpu_pod("p", 4, 1, "", prefers_a)), "a");
  bench.put_gpu_node("b", 2, 64, "y", R"("taints":[{"key":"k","effect":"PreferNoSchedule"}])");
  EXPECT_EQ(bench.choose(bench.put_gpu_pod("q", 4, 1)), "a") << "b asks to be avoided";
}

TEST(GpuFragmentation, CachedChoicesAreThoseOfANewCycle) {
  EXPECT_TRUE(rc::check("random clusters and workloads", [] {
    GpuBench bench;
    const auto name = [](int i) { return "n" + std::to_string(i); };
    for (int i = 0; i < 4; ++i)
      bench.put_gpu_node(name(i), random_below(5), 8 + random_below(40), random_below(2) ? "x" : "y");
    const auto put_pod = [&](int i, const std::string& spec) {
      const bool share = one_in(2);
      return &bench.put_gpu_pod("p" + std::to_string(i), 1 + random_below(6), share ? 0 : random_below(3),
                                share ? "0." + std::to_string(1 + random_below(9)) : "",
                                spec + (one_in(3) ? GpuBench::on_model("x") : ""), i % 60);
    };
    for (int i = 0; i < 80; ++i)
      put_pod(i, one_in(4) ? R"(,"nodeName":")" + name(random_below(4)) + "\"" : "");
    for (int step = 0; step < 40; ++step) {
      const api::Pod* pod = put_pod(80 + random_below(6), "");
      // Every decision counts as an arrival, so the mix may change between the two.
      const std::uint64_t before = bench.learned(*pod).digest();
      const std::string kept = bench.choose(*pod), anew = bench.choose_anew(*pod);
      if (bench.learned(*pod).digest() == before) RC_ASSERT(kept == anew);
      if (one_in(2)) put_pod(random_below(80), R"(,"nodeName":")" + name(random_below(4)) + "\"");
      if (one_in(6))
        bench.put_gpu_node(name(random_below(4)), random_below(5), 30, random_below(2) ? "x" : "y");
    }
  }));
}

// Nodes with devices of the class gpu, and pods with a claim each.
struct ClaimBench : PluginBench {
  ClaimBench() {
    put(api::Kind::DeviceClass,
        R"({"metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":"true"}}]}})");
  }
  // `more`: members of each device: ,"allowMultipleAllocations":true.
  void put_device_node(const std::string& name, int count, int cpus, const std::string& more = "") {
    put(api::Kind::Node, R"({"metadata":{"name":")" + name + R"("},"status":{"allocatable":{"cpu":")" +
                             std::to_string(cpus) + R"(","memory":"900Gi","pods":"500"}}})");
    std::string list;
    for (int i = 0; i < count; ++i)
      list += (i == 0 ? R"({"name":"d)" : R"(,{"name":"d)") + std::to_string(i) + "\"" + more + "}";
    put(api::Kind::ResourceSlice,
        R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"gpu.example.com","nodeName":")" + name +
            R"(","pool":{"name":")" + name + R"(","generation":1,"resourceSliceCount":1},"devices":[)" +
            list + "]}}");
    holders_[name].resize(static_cast<std::size_t>(count));
  }
  // Runs on `node`, with the first free devices, if it is named. `request`: more members of the request.
  const api::Pod& put_claimed_pod(const std::string& name, int cpus, int count, const std::string& node = "",
                                  const std::string& request = "") {
    std::string status, results;
    int left = node.empty() ? 0 : count;
    for (std::size_t i = 0; left > 0 && i < holders_[node].size(); ++i) {
      if (!holders_[node][i].empty()) continue;
      holders_[node][i] = name;
      results += (results.empty() ? "" : ",") +
                 (R"({"request":"r","driver":"gpu.example.com","pool":")" + node) + R"(","device":"d)" +
                 std::to_string(i) + "\"}";
      --left;
    }
    if (!node.empty())
      status = R"(,"status":{"allocation":{"devices":{"results":[)" + results +
               R"(]}},"reservedFor":[{"resource":"pods","name":")" + name + R"(","uid":")" + name + "\"}]}";
    put(api::Kind::ResourceClaim,
        R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"of-)" + name +
            R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)" +
            R"("allocationMode":"ExactCount","count":)" + std::to_string(count) + request + "}}]}}" + status +
            "}");
    put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
                            R"("},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":")" +
                            std::to_string(cpus) + R"("}}}],"resourceClaims":[{"name":"c",)" +
                            R"("resourceClaimName":")" + name + "\"}]" +
                            (node.empty() ? "" : R"(,"nodeName":")" + node + "\"") + "}}");
    return *view.pods.find("ns", name);
  }
  void put_claims(int count, int cpus, int devices, const std::string& request = "") {
    for (int i = 0; i < count; ++i)
      put_claimed_pod("w" + std::to_string(workload_++), cpus, devices, "", request);
  }
  void end_pod(const std::string& name) {
    for (auto& [node, holders] : holders_)
      for (std::string& holder : holders)
        if (holder == name) holder.clear();
    erase(api::Kind::Pod, "ns", name);
    erase(api::Kind::ResourceClaim, "ns", name);
  }
  int free_on(const std::string& node) {
    return static_cast<int>(std::ranges::count(holders_[node], std::string()));
  }
  const LearnedWorkload* learned(const api::Pod& pod) {
    context.now = context.now + Duration::millis(1);  // a decision of its own
    begin(pod);
    EXPECT_TRUE(pods.prepare(state));
    return state.slots.read<GpuWorkload>().of_class;
  }
  // After some more decisions.
  bool learned_soon(const api::Pod& pod) {
    for (int i = 0; i < 100; ++i)
      if (learned(pod)) return true;
    return false;
  }

 private:
  std::map<std::string, std::vector<std::string>> holders_;  // of devices, by node
  int workload_ = 0;
};

TEST(GpuFragmentation, KeepsNodesWholeForClaimsThatNeedThem) {
  ClaimBench bench;
  for (const char* node : {"a", "b"}) bench.put_device_node(node, 2, 64);
  bench.put_claimed_pod("running", 4, 1, "b");
  bench.put_claims(int{kWorkloadPodsMin} - 3, 4, 2);
  EXPECT_EQ(bench.choose(bench.put_claimed_pod("p", 4, 1)), "a") << "too few pods: as kube-scheduler";
  bench.put_claims(80, 4, 2);
  const api::Pod& q = bench.put_claimed_pod("q", 4, 1);
  ASSERT_TRUE(bench.learned_soon(q));
  EXPECT_EQ(bench.choose(q), "b") << "a stays whole for claims of two";
}

TEST(LearnedWorkload, KnowsPlainClaimsOfWholeDevices) {
  ClaimBench bench;
  bench.put_device_node("whole", 2, 64);
  bench.put_device_node("shared", 2, 64, R"(,"allowMultipleAllocations":true)");
  bench.put_claims(80, 4, 2, R"(,"selectors":[{"cel":{"expression":"true"}}])");
  const api::Pod& selects = *bench.view.pods.find("ns", "w0");
  EXPECT_EQ(bench.learned(selects), nullptr);
  EXPECT_EQ(bench.learned(bench.put_claimed_pod("p", 4, 1)), nullptr) << "the others are not learned from";
  bench.put_claims(int{kWorkloadPodsMin}, 4, 2);
  EXPECT_TRUE(bench.learned_soon(*bench.view.pods.find("ns", "p")));
  const auto gpus = ClaimedDevices::of(bench.context, "gpu");
  ASSERT_TRUE(gpus);
  EXPECT_EQ(gpus->offered(bench.context, bench.cluster.find_node("whole")), 2);
  EXPECT_FALSE(gpus->room_of(bench.context, bench.cluster.find_node("shared")).has_value());
  EXPECT_EQ(ClaimedDevices::of(bench.context, "no-class"), nullptr);
}

TEST(GpuFragmentation, CachedChoicesByClaimsAreThoseOfANewCycle) {
  EXPECT_TRUE(rc::check("random clusters and claims", [] {
    ClaimBench bench;
    const auto name = [](int i) { return "n" + std::to_string(i); };
    for (int i = 0; i < 4; ++i) bench.put_device_node(name(i), random_below(5), 8 + random_below(40));
    bench.put_claims(80, 1 + random_below(6), 1 + random_below(2));
    for (int step = 0; step < 40; ++step) {
      const api::Pod& pod = bench.put_claimed_pod("p" + std::to_string(random_below(6)), 1 + random_below(6),
                                                  1 + random_below(3));
      const auto digest = [&] {
        const LearnedWorkload* learned = bench.learned(pod);
        return learned ? learned->digest() : 0;
      };
      const std::uint64_t before = digest();
      const std::string kept = bench.choose(pod), anew = bench.choose_anew(pod);
      if (digest() == before) RC_ASSERT(kept == anew);
      const std::string running = "r" + std::to_string(random_below(8)), node = name(random_below(4));
      bench.end_pod(running);
      const int devices = 1 + random_below(2);
      if (one_in(2) && bench.free_on(node) >= devices)
        bench.put_claimed_pod(running, 1 + random_below(3), devices, node);
    }
  }));
}

}  // namespace
}  // namespace berth::placement
