// GpuFragmentation of partitions and shares of devices: where they go, and that cached choices are fresh.
#include "placement/fragmentation/driver_devices.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "placement/plugins/gpu_fragmentation.h"
#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

constexpr int kPartSlices = 4;

// GPUs of four slices, as wholes, halves and quarters; or shared devices with ten units of memory.
struct PartsBench : PluginBench {
  PartsBench() {
    for (const char* kind : {"whole", "half", "quarter", "shared"})
      put(api::Kind::DeviceClass,
          R"({"metadata":{"name":")" + std::string(kind) +
              R"("},"spec":{"selectors":[{"cel":{"expression":"device.driver == 'gpu.example.com'"}},)" +
              R"({"cel":{"expression":"device.kind == ')" + kind + R"('"}}]}})");
  }
  void put_slice(const std::string& node, const std::string& name, const std::string& members, int slices) {
    put(api::Kind::ResourceSlice,
        R"({"metadata":{"name":")" + node + name + R"("},"spec":{"driver":"gpu.example.com","nodeName":")" +
            node + R"(","pool":{"name":")" + node + R"(","generation":1,"resourceSliceCount":)" +
            std::to_string(slices) + "}," + members + "}}");
  }
  void put_cpus(const std::string& node) {
    put(api::Kind::Node, R"({"metadata":{"name":")" + node +
                             R"("},"status":{"allocatable":{"cpu":"64","memory":"900Gi","pods":"500"}}})");
  }
  static std::string device(const std::string& kind, int at, int gpu, int size) {
    std::string counters;
    for (int i = at; i < at + size; ++i)
      counters += (counters.empty() ? "\"s" : ",\"s") + std::to_string(i) + R"(":{"value":"1"})";
    return R"({"name":")" + kind + "-" + std::to_string(gpu) + "-" + std::to_string(at) +
           R"(","attributes":{"kind":{"string":")" + kind + R"("}},"consumesCounters":[{"counterSet":"gpu)" +
           std::to_string(gpu) + R"(","counters":{)" + counters + "}}]}";
  }
  void put_partitioned(const std::string& node, int gpus) {
    put_cpus(node);
    std::string sets, devices;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      sets +=
          (gpu == 0 ? R"({"name":"gpu)" : R"(,{"name":"gpu)") + std::to_string(gpu) +
          R"(","counters":{"s0":{"value":"1"},"s1":{"value":"1"},"s2":{"value":"1"},"s3":{"value":"1"}}})";
      for (const auto& [kind, size] : {std::pair{"whole", 4}, {"half", 2}, {"quarter", 1}})
        for (int at = 0; at < kPartSlices; at += size)
          devices += (devices.empty() ? "" : ",") + device(kind, at, gpu, size);
    }
    put_slice(node, "-sets", R"("sharedCounters":[)" + sets + "]", 2);
    put_slice(node, "-devices", R"("devices":[)" + devices + "]", 2);
  }
  void put_shared(const std::string& node) {
    put_cpus(node);
    put_slice(node, "-devices",
              R"("devices":[{"name":"s","attributes":{"kind":{"string":"shared"}},)"
              R"("allowMultipleAllocations":true,"capacity":{"memory":{"value":"10"}}}])",
              1);
  }
  // `device`: which it has on `node`; empty: it waits. `memory`: of a share.
  const api::Pod& put_pod_for(const std::string& name, const std::string& kind, const std::string& node = "",
                              const std::string& device = "", int memory = 0) {
    const std::string amount = std::to_string(memory);
    const std::string capacity = memory > 0 ? R"(,"capacity":{"requests":{"memory":")" + amount + "\"}}" : "";
    const std::string share =
        memory > 0 ? R"(,"shareID":"11111111-1111-1111-1111-111111111111","consumedCapacity":{"memory":")" +
                         amount + "\"}"
                   : "";
    const std::string status =
        node.empty() ? ""
                     : R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":)"
                       R"("gpu.example.com","pool":")" +
                           node + R"(","device":")" + device + "\"" + share +
                           R"(}]}},"reservedFor":[{"resource":"pods","name":")" + name + R"(","uid":")" +
                           name + "\"}]}";
    put(api::Kind::ResourceClaim,
        R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"of-)" + name +
            R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":")" + kind +
            R"(","allocationMode":"ExactCount","count":1)" + capacity + "}}]}}" + status + "}");
    put(api::Kind::Pod,
        R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
            R"("},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],)" +
            R"("resourceClaims":[{"name":"c","resourceClaimName":")" + name + "\"}]" +
            (node.empty() ? "" : R"(,"nodeName":")" + node + "\"") + "}}");
    return *view.pods.find("ns", name);
  }
  void put_waiting(int count, const std::string& kind, int memory = 0) {
    for (int i = 0; i < count; ++i) put_pod_for("w" + std::to_string(workload_++), kind, "", "", memory);
  }
  const plugins::GpuWorkload& workload_of(const api::Pod& pod) {
    context.now = context.now + Duration::millis(1);  // a decision of its own
    begin(pod);
    EXPECT_TRUE(pods.prepare(state));
    return state.slots.read<plugins::GpuWorkload>();
  }
  // After some more decisions.
  bool known_soon(const api::Pod& pod) {
    for (int i = 0; i < 200; ++i)
      if (workload_of(pod).kinds) return true;
    return false;
  }

 private:
  int workload_ = 0;
};

TEST(GpuFragmentation, CutsTheGpuThatIsCutAndLeavesAnotherWhole) {
  PartsBench bench;
  for (const char* node : {"a", "b"}) bench.put_partitioned(node, 1);
  bench.put_pod_for("running", "quarter", "b", "quarter-0-0");
  const api::Pod& p = bench.put_pod_for("p", "quarter");
  EXPECT_EQ(bench.choose(p), "a") << "too few pods: as kube-scheduler";
  bench.put_waiting(60, "quarter");
  bench.put_waiting(60, "whole");
  ASSERT_TRUE(bench.known_soon(p));
  EXPECT_EQ(bench.choose(p), "b") << "a stays whole for pods of a whole GPU";
}

TEST(GpuFragmentation, KeepsAHalfOfAGpuForPodsThatNeedOne) {
  PartsBench bench;
  for (const char* node : {"a", "b"}) bench.put_partitioned(node, 1);
  bench.put_pod_for("on-a", "half", "a", "half-0-0");
  bench.put_pod_for("on-b", "quarter", "b", "quarter-0-0");
  bench.put_waiting(60, "quarter");
  bench.put_waiting(60, "half");
  const api::Pod& p = bench.put_pod_for("p", "quarter");
  ASSERT_TRUE(bench.known_soon(p));
  EXPECT_EQ(bench.choose(p), "b") << "the half of b that is cut already";
}

TEST(GpuFragmentation, SharesGoWhereLessIsLeft) {
  PartsBench bench;
  for (const char* node : {"a", "b"}) bench.put_shared(node);
  bench.put_pod_for("running", "shared", "b", "s", 4);
  const api::Pod& p = bench.put_pod_for("p", "shared", "", "", 4);
  EXPECT_EQ(bench.choose(p), "a") << "too few pods: as kube-scheduler";
  bench.put_waiting(60, "shared", 4);
  bench.put_waiting(60, "shared", 10);
  ASSERT_TRUE(bench.known_soon(p));
  EXPECT_EQ(bench.choose(p), "b") << "a stays whole for pods of ten";
}

TEST(DriverDevices, KnowTheKindsThatMostPodsAskFor) {
  PartsBench bench;
  bench.put_partitioned("a", 2);
  bench.put_shared("b");
  bench.put_waiting(3, "half");
  for (int memory = 1; memory < 10; ++memory) bench.put_waiting(2, "shared", memory);
  for (int memory = 11; memory < 22; ++memory) bench.put_waiting(1, "shared", memory);
  const auto devices = DriverDevices::of(bench.context, "gpu.example.com");
  EXPECT_EQ(devices->offered(bench.context, bench.cluster.find_node("a")), 2);
  EXPECT_EQ(devices->offered(bench.context, bench.cluster.find_node("b")), 1);
  const auto demand_of = [&](const std::string& pod) {
    return devices->demand_of(bench.context, bench.cluster.pod(bench.cluster.find_pod("ns", pod)));
  };
  EXPECT_EQ(demand_of("w0").devices, 1);
  EXPECT_EQ(demand_of("w0").hundredths, 50);
  EXPECT_EQ(demand_of("w9").hundredths, 40) << "four of ten";
  int known = 0;
  for (int pod = 21; pod < 32; ++pod) known += demand_of("w" + std::to_string(pod)).devices > 0 ? 1 : 0;
  EXPECT_EQ(known, static_cast<int>(dra::kUnitKindsMax) - 10) << "the rarest are left out";
  EXPECT_TRUE(divided_driver_of(bench.context, bench.put_pod("plain")).empty());
}

TEST(GpuFragmentation, CachedChoicesByPartsAreThoseOfANewCycle) {
  EXPECT_TRUE(rc::check("random clusters, partitions and shares", [] {
    PartsBench bench;
    std::map<std::string, std::string> holders;  // of devices: the pod
    const auto name = [](int i) { return "n" + std::to_string(i); };
    for (int i = 0; i < 3; ++i) bench.put_partitioned(name(i), 1 + random_below(2));
    for (int i = 3; i < 5; ++i) bench.put_shared(name(i));
    static const char* const kinds[] = {"whole", "half", "quarter", "shared"};
    for (const char* kind : kinds) bench.put_waiting(10 + random_below(40), kind, *kind == 's' ? 4 : 0);
    int running = 0;
    for (int step = 0; step < 40; ++step) {
      const char* const kind = kinds[random_below(4)];
      const api::Pod& pod = bench.put_pod_for("p" + std::to_string(random_below(6)), kind, "", "",
                                              *kind == 's' ? 3 + random_below(2) : 0);
      const auto digest = [&] {
        const plugins::GpuWorkload& workload = bench.workload_of(pod);
        return workload.kinds ? workload.of_class->digest() : 0;
      };
      const std::uint64_t before = digest();
      const std::string kept = bench.choose(pod), again = bench.choose_anew(pod);
      if (digest() == before) RC_ASSERT(kept == again);
      const int node = random_below(5), at = random_below(kPartSlices);
      const std::string device = node < 3 ? "quarter-0-" + std::to_string(at) : "s";
      std::string& holder = holders[name(node) + device];
      if (holder.empty()) {
        holder = "r" + std::to_string(running++);
        bench.put_pod_for(holder, node < 3 ? "quarter" : "shared", name(node), device, node < 3 ? 0 : 4);
      } else {
        bench.erase(api::Kind::Pod, "ns", holder);
        bench.erase(api::Kind::ResourceClaim, "ns", holder);
        holder.clear();
      }
    }
  }));
}

}  // namespace
}  // namespace berth::placement
