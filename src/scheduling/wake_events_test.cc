// Which change wakes a refused pod, and which does not.
#include <gtest/gtest.h>

#include <span>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

using api::Kind;
using Change = void (*)(TestBench&);

struct WakeRow {
  const char* name;
  const char* pod;  // more members of its spec
  Change wakes, does_not;
  const char* cpu = "4";   // of the node, of which 4 are in use
  Change given = nullptr;  // before the pod
};

void put_on_node(TestBench& bench, const std::string& name, const std::string& cpu, const std::string& labels,
                 const std::string& container = "", int generation = 1, const std::string& node = "n1") {
  bench.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-)" +
                                name + R"(","generation":)" + std::to_string(generation) + R"(,"labels":{)" +
                                labels + R"(}},"spec":{"nodeName":")" + node +
                                R"(","containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                                "\"}}" + container + R"(}]},"status":{"phase":"Running"}})");
}

// Pod large asks for 1 CPU only, and its container still uses so many.
void put_shrinking(TestBench& bench, const std::string& uses) {
  bench.put(Kind::Pod,
            R"({"metadata":{"name":"large","namespace":"default","uid":"uid-large","generation":2},"spec":)"
            R"({"nodeName":"n1","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},"status":)"
            R"({"phase":"Running","containerStatuses":[{"name":"c","allocatedResources":{"cpu":"1"},)"
            R"("resources":{"requests":{"cpu":")" +
                uses + "\"}}}]}}");
}

constexpr const char* kNear =
    R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":)"
    R"({"matchLabels":{"app":"db"}},"topologyKey":"kubernetes.io/hostname"}]}})";

void put_group(TestBench& bench, const std::string& name, int generation) {
  bench.put(Kind::PodGroup, R"({"metadata":{"namespace":"default","name":")" + name + R"(","generation":)" +
                                std::to_string(generation) +
                                R"(},"spec":{"schedulingPolicy":{"basic":{}}}})");
}

void change_pod(TestBench& bench, const std::string& name, void (*change)(Json&)) {
  Json pod = *parse_json(*bench.view.pods.find("default", name)->raw);
  change(pod);
  bench.put_json(Kind::Pod, std::move(pod));
}
void finish(TestBench& bench, const std::string& name) {
  change_pod(bench, name, [](Json& pod) { pod["status"]["phase"] = "Succeeded"; });
}

constexpr WakeRow kPodRows[] = {
    {"pod gone", "", [](TestBench& b) { b.erase(Kind::Pod, "large"); },
     [](TestBench& b) { b.erase(Kind::Pod, "small"); }},
    {"pod finished", "", [](TestBench& b) { finish(b, "large"); }, [](TestBench& b) { finish(b, "small"); }},
    {"its own toleration", "",
     [](TestBench& b) {
       change_pod(b, "p", [](Json& pod) {
         pod["metadata"]["generation"] = std::int64_t{2};
         pod["spec"]["tolerations"] = Json::array({Json::object({{"operator", "Exists"}})});
       });
     },
     [](TestBench& b) { change_pod(b, "p", [](Json& pod) { pod["status"]["qosClass"] = "Burstable"; }); },
     "16",
     [](TestBench& b) {
       b.put_node({"n1", "16", "8Gi", "110", {}, R"({"taints":[{"key":"a","effect":"NoSchedule"}]})"});
     }},
    {"resize in place", "", [](TestBench& b) { put_on_node(b, "large", "1", "", "", 2); },
     [](TestBench& b) { put_on_node(b, "large", "2900m", "", "", 2); }},
    {"resize in place, carried out", "", [](TestBench& b) { put_shrinking(b, "1"); },
     [](TestBench& b) { put_shrinking(b, "2900m"); }, "4", [](TestBench& b) { put_shrinking(b, "3"); }},
    {"pod placed", kNear, [](TestBench& b) { put_on_node(b, "db", "100m", R"("app":"db")"); },
     [](TestBench& b) { put_on_node(b, "web", "100m", R"("app":"web")"); }, "16"},
    {"pod relabelled", kNear, [](TestBench& b) { put_on_node(b, "small", "1", R"("app":"db")"); },
     [](TestBench& b) { put_on_node(b, "small", "1", R"("app":"web")"); }, "16"},
    {"host port", R"(,"initContainers":[{"name":"i","restartPolicy":"Always","ports":[{"hostPort":80}]}])",
     [](TestBench& b) { b.erase(Kind::Pod, "at 80"); }, [](TestBench& b) { b.erase(Kind::Pod, "at 81"); },
     "16",
     [](TestBench& b) {
       put_on_node(b, "at 80", "100m", "", R"(,"ports":[{"hostPort":80}])");
       put_on_node(b, "at 81", "100m", "", R"(,"ports":[{"hostPort":81}])");
     }},
    {"namespace",
     R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":)"
     R"({"matchLabels":{"app":"db"}},"namespaceSelector":{"matchLabels":{"team":"a"}},)"
     R"("topologyKey":"kubernetes.io/hostname"}]}})",
     [](TestBench& b) { b.put(Kind::Namespace, R"({"metadata":{"name":"default","labels":{"team":"a"}}})"); },
     [](TestBench& b) { b.put(Kind::Namespace, R"({"metadata":{"name":"default","labels":{"team":"b"}}})"); },
     "16", [](TestBench& b) { put_on_node(b, "db", "100m", R"("app":"db")"); }},
    {"group", R"(,"schedulingGroup":{"podGroupName":"g"})", [](TestBench& b) { put_group(b, "g", 2); },
     [](TestBench& b) { put_group(b, "h", 2); }, "4",
     [](TestBench& b) {
       put_group(b, "g", 1);
       put_group(b, "h", 1);
     }},
    // One pod is too few for group h.
    {"member", R"(,"schedulingGroup":{"podGroupName":"g"})",
     [](TestBench& b) { b.put_pod({"late", "2", "g", R"(,"preemptionPolicy":"Never")"}); },
     [](TestBench& b) { b.put_pod({"late", "2", "h", R"(,"preemptionPolicy":"Never")"}); }, "4",
     [](TestBench& b) {
       b.put_group("g", 1);
       b.put_group("h", 2);
     }},
    // kube-apiserver 1.37 gives these objects no generation.
    {"group's minimum", R"(,"schedulingGroup":{"podGroupName":"g"})",
     [](TestBench& b) { b.put_group("g", 1); }, [](TestBench& b) { b.put_group("h", 1); }, "4",
     [](TestBench& b) {
       b.put_group("g", 0);
       b.put_group("h", 0);
     }},
};

void put_tainted(TestBench& bench, const std::string& taints) {
  bench.put_node({"n1", "16", "8Gi", "110", {}, R"({"taints":[)" + taints + "]}"});
}
constexpr const char* kFirstTaint = R"({"key":"a","effect":"NoSchedule"})";
constexpr const char* kSecondTaint = R"({"key":"b","effect":"NoSchedule"})";

// Node n1; `status` has more members of its status: ,"declaredFeatures":[…]
void put_status(TestBench& bench, const std::string& cpu, const std::string& status) {
  bench.put(Kind::Node,
            R"({"metadata":{"name":"n1","uid":"node-n1","labels":{"kubernetes.io/hostname":"n1"}},)"
            R"("spec":{},"status":{"allocatable":{"cpu":")" +
                cpu + R"(","memory":"8Gi","pods":"110"})" + status + "}}");
}

// Zone a runs two of the pods that p is spread over; zone b runs none, and has no room for p.
void put_uneven_zones(TestBench& bench) {
  bench.put_node({"n1", "16", "8Gi", "110", {{"zone", "a"}}});
  bench.put_node({"n2", "1", "8Gi", "110", {{"zone", "b"}}});
  put_on_node(bench, "web-0", "100m", R"("app":"web")");
  put_on_node(bench, "web-1", "100m", R"("app":"web")");
}

constexpr WakeRow kNodeRows[] = {
    {"allocatable", "", [](TestBench& b) { b.put_node({"n1", "8"}); },
     [](TestBench& b) { b.put_node({"n1", "4500m"}); }},
    {"node added", "", [](TestBench& b) { b.put_node({"n2"}); },
     [](TestBench& b) { b.put_node({"n2", "1"}); }},
    {"label", R"(,"nodeSelector":{"disk":"ssd"})",
     [](TestBench& b) { b.put_node({"n1", "4", "8Gi", "110", {{"disk", "ssd"}}}); },
     [](TestBench& b) { b.put_node({"n1", "4", "8Gi", "110", {{"disk", "hdd"}}}); }},
    {"taint", "", [](TestBench& b) { put_tainted(b, ""); },
     [](TestBench& b) { put_tainted(b, kSecondTaint); }, "16",
     [](TestBench& b) { put_tainted(b, kFirstTaint + std::string(",") + kSecondTaint); }},
    {"cordon", "", [](TestBench& b) { b.put_node({"n1", "16"}); },
     [](TestBench& b) {
       b.put_node({"n1", "16", "8Gi", "110", {{"disk", "ssd"}}, R"({"unschedulable":true})"});
     },
     "16", [](TestBench& b) { b.put_node({"n1", "16", "8Gi", "110", {}, R"({"unschedulable":true})"}); }},
    {"node gone",
     R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
     R"("labelSelector":{"matchLabels":{"app":"web"}}}])",
     [](TestBench& b) { b.erase(Kind::Node, "n2", ""); },
     [](TestBench& b) { b.put_node({"n2", "1500m", "8Gi", "110", {{"zone", "b"}}}); }, "16",
     put_uneven_zones},
    {"declared feature",
     R"(,"initContainers":[{"name":"i","restartPolicyRules":[{"action":"RestartAllContainers"}]}])",
     [](TestBench& b) {
       put_status(b, "16", R"(,"declaredFeatures":["RestartAllContainersOnContainerExits"])");
     },
     [](TestBench& b) { put_status(b, "16", R"(,"declaredFeatures":["UserNamespacesHostNetworkSupport"])"); },
     "16"},
    {"allocatable, not a heartbeat", "", [](TestBench& b) { put_status(b, "8", ""); },
     [](TestBench& b) {
       put_status(b, "4", R"(,"conditions":[{"type":"MemoryPressure","status":"False"}])");
     }},
};

constexpr const char* kWithClaim = R"(,"resourceClaims":[{"name":"d","resourceClaimName":"c"}])";

void put_classes(TestBench& bench) {
  bench.put_class("fast", "device.driver == 'fast.example.com'");
  bench.put_class("slow", "device.driver == 'slow.example.com'");
}
void put_allocated(TestBench& bench, const std::string& name, const std::string& driver) {
  bench.put_slice(name, "n1", 1, driver + ".example.com");
  bench.put(Kind::ResourceClaim,
            R"({"metadata":{"name":")" + name + R"(","namespace":"default"},"spec":{"devices":{"requests":)" +
                R"([{"name":"r","exactly":{"deviceClassName":")" + driver +
                R"("}}]}},"status":{"allocation":{"devices":{"results":[{"request":"r","driver":")" + driver +
                R"(.example.com","pool":"pool-)" + name + R"(","device":"d0"}]}}}})");
}
void put_both_allocated(TestBench& bench) {
  put_classes(bench);
  put_allocated(bench, "taken", "fast");
  put_allocated(bench, "other", "slow");
}
void put_rule(TestBench& bench, const std::string& name, const std::string& driver) {
  bench.put(Kind::DeviceTaintRule, R"({"metadata":{"name":")" + name +
                                       R"("},"spec":{"deviceSelector":{"driver":")" + driver +
                                       R"(.example.com"},"taint":{"key":"k","effect":"NoSchedule"}}})");
}
void put_serving(TestBench& bench, const std::string& name, const std::string& resource) {
  bench.put(Kind::DeviceClass, R"({"metadata":{"name":")" + name +
                                   R"("},"spec":{"extendedResourceName":"example.com/)" + resource + "\"}}");
}

void put_in_zone(TestBench& bench, const std::string& zone, const std::string& cpu) {
  bench.put_node({"n1", cpu, "8Gi", "110", {{"zone", zone}}});
}

constexpr WakeRow kDeviceRows[] = {
    {"label that a slice reads", kWithClaim, [](TestBench& b) { put_in_zone(b, "a", "16"); },
     [](TestBench& b) { put_in_zone(b, "b", "17"); }, "16",
     [](TestBench& b) {
       put_classes(b);
       put_in_zone(b, "b", "16");
       b.put(Kind::ResourceSlice, R"({"metadata":{"name":"s"},"spec":{"driver":"fast.example.com","pool":)"
                                  R"({"name":"s","generation":1,"resourceSliceCount":1},"nodeSelector":)"
                                  R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone",)"
                                  R"("operator":"In","values":["a"]}]}]},"devices":[{"name":"d0"}]}})");
     }},
    {"class", kWithClaim, [](TestBench& b) { b.put_class("fast", "true"); },
     [](TestBench& b) { b.put_class("slow", "true"); }, "16"},
    {"class of an extended resource",
     R"(,"initContainers":[{"name":"i","resources":{"requests":{"example.com/x":"1"}}}])",
     [](TestBench& b) { put_serving(b, "x", "x"); }, [](TestBench& b) { put_serving(b, "y", "y"); }, "16"},
    {"slice", kWithClaim, [](TestBench& b) { b.put_slice("s", "n1", 1, "fast.example.com"); },
     [](TestBench& b) { b.put_slice("s", "n1", 1, "slow.example.com"); }, "16", put_classes},
    {"slice, for a group",
     R"(,"schedulingGroup":{"podGroupName":"g"},"resourceClaims":[{"name":"d",)"
     R"("resourceClaimName":"c"}])",
     [](TestBench& b) { b.put_slice("s", "n1", 1, "fast.example.com"); },
     [](TestBench& b) { b.put_slice("s", "n1", 1, "slow.example.com"); }, "16",
     [](TestBench& b) {
       put_classes(b);
       b.put_group("g", 1);
     }},
    {"claim gone", kWithClaim, [](TestBench& b) { b.erase(Kind::ResourceClaim, "taken"); },
     [](TestBench& b) { b.erase(Kind::ResourceClaim, "other"); }, "16", put_both_allocated},
    {"claim deallocated", kWithClaim, [](TestBench& b) { b.put_claim("taken", "fast"); },
     [](TestBench& b) { b.put_claim("other", "slow"); }, "16", put_both_allocated},
    {"its own claim", kWithClaim, [](TestBench& b) { put_allocated(b, "c", "fast"); },
     [](TestBench& b) { put_allocated(b, "d", "slow"); }, "16", put_classes},
    {"taint rule", kWithClaim, [](TestBench& b) { b.erase(Kind::DeviceTaintRule, "on fast", ""); },
     [](TestBench& b) { b.erase(Kind::DeviceTaintRule, "on slow", ""); }, "16",
     [](TestBench& b) {
       put_classes(b);
       b.put_slice("s", "n1", 1, "fast.example.com");
       put_rule(b, "on fast", "fast");
       put_rule(b, "on slow", "slow");
     }},
};

constexpr const char* kWithVolume = R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])";

void put_storage_class(TestBench& bench, const std::string& name, const std::string& provisioner) {
  bench.put(Kind::StorageClass, R"({"metadata":{"name":")" + name + R"("},"provisioner":")" + provisioner +
                                    R"(","volumeBindingMode":"WaitForFirstConsumer"})");
}
// Asks for 2 GiB.
void put_volume_claim(TestBench& bench, const std::string& name, const std::string& of,
                      const std::string& volume = "") {
  bench.put(Kind::PersistentVolumeClaim,
            R"({"metadata":{"namespace":"default","name":")" + name + R"("},"spec":{"storageClassName":")" +
                of + R"(","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}})" +
                (volume.empty() ? "" : R"(,"volumeName":")" + volume + "\"") + "}}");
}
void put_disk(TestBench& bench, const std::string& name, const std::string& of, const std::string& size,
              const std::string& more = "") {
  bench.put(Kind::PersistentVolume, R"({"metadata":{"name":")" + name + R"("},"spec":{"storageClassName":")" +
                                        of + R"(","accessModes":["ReadWriteOnce"],"capacity":{"storage":")" +
                                        size + "\"}" + more + "}}");
}
void put_waiting_claim(TestBench& bench) {
  put_storage_class(bench, "local", "kubernetes.io/no-provisioner");
  put_storage_class(bench, "made", "drv");
  put_volume_claim(bench, "c", "local");
}
void put_driver(TestBench& bench, const std::string& name, bool tells_capacity) {
  bench.put(Kind::CSIDriver, R"({"metadata":{"name":")" + name + R"("},"spec":{"storageCapacity":)" +
                                 (tells_capacity ? "true}}" : "false}}"));
}
void put_capacity(TestBench& bench, const std::string& of, const std::string& size) {
  bench.put(Kind::CSIStorageCapacity, R"({"metadata":{"namespace":"default","name":"cap"},)"
                                      R"("nodeTopology":{},"storageClassName":")" +
                                          of + R"(","capacity":")" + size + "\"}");
}
void put_claim_without_capacity(TestBench& bench) {
  put_storage_class(bench, "made", "drv");
  put_volume_claim(bench, "c", "made");
  put_driver(bench, "drv", true);
  put_driver(bench, "other", true);
}
// How many volumes of each driver the node attaches.
void put_limits(TestBench& bench, int drv, int other) {
  const auto driver = [](const std::string& name, int count) {
    return R"({"name":")" + name + R"(","nodeID":"n1","allocatable":{"count":)" + std::to_string(count) +
           "}}";
  };
  bench.put(Kind::CSINode, R"({"metadata":{"name":"n1"},"spec":{"drivers":[)" + driver("drv", drv) + "," +
                               driver("other", other) + "]}}");
}
void put_attachment(TestBench& bench, const std::string& name, const std::string& driver) {
  put_disk(bench, name, "old", "1Gi",
           R"(,"csi":{"driver":")" + driver + R"(","volumeHandle":")" + name + "\"}");
  bench.put(Kind::VolumeAttachment, R"({"metadata":{"name":")" + name + R"("},"spec":{"attacher":")" +
                                        driver + R"(","nodeName":"n1","source":{"persistentVolumeName":")" +
                                        name + "\"}}}");
}
void put_full_node(TestBench& bench) {
  put_storage_class(bench, "made", "drv");
  put_volume_claim(bench, "c", "made");
  put_limits(bench, 1, 1);
  put_attachment(bench, "of drv", "drv");
  put_attachment(bench, "of other", "other");
}

constexpr WakeRow kVolumeRows[] = {
    {"volume", kWithVolume, [](TestBench& b) { put_disk(b, "d", "local", "2Gi"); },
     [](TestBench& b) { put_disk(b, "d", "made", "2Gi"); }, "16", put_waiting_claim},
    {"volume, too small", kWithVolume, [](TestBench& b) { put_disk(b, "d", "local", "2Gi"); },
     [](TestBench& b) { put_disk(b, "d", "local", "1Gi"); }, "16", put_waiting_claim},
    {"volume, kept for another", kWithVolume,
     [](TestBench& b) {
       put_disk(b, "d", "local", "2Gi", R"(,"claimRef":{"namespace":"default","name":"c"})");
     },
     [](TestBench& b) {
       put_disk(b, "d", "local", "2Gi", R"(,"claimRef":{"namespace":"default","name":"e"})");
     },
     "16", put_waiting_claim},
    {"claim of a volume", kWithVolume, [](TestBench& b) { b.erase(Kind::PersistentVolumeClaim, "has it"); },
     [](TestBench& b) { b.erase(Kind::PersistentVolumeClaim, "other"); }, "16",
     [](TestBench& b) {
       put_waiting_claim(b);
       put_disk(b, "d", "local", "2Gi");
       put_volume_claim(b, "has it", "local", "d");
       put_volume_claim(b, "other", "made");
     }},
    {"its own claim of a volume", kWithVolume, [](TestBench& b) { put_volume_claim(b, "c", "made"); },
     [](TestBench& b) { put_volume_claim(b, "e", "made"); }, "16",
     [](TestBench& b) { put_storage_class(b, "made", "drv"); }},
    {"storage class", kWithVolume, [](TestBench& b) { put_storage_class(b, "made", "drv"); },
     [](TestBench& b) { put_storage_class(b, "other", "drv"); }, "16",
     [](TestBench& b) { put_volume_claim(b, "c", "made"); }},
    {"capacity", kWithVolume, [](TestBench& b) { put_capacity(b, "made", "2Gi"); },
     [](TestBench& b) { put_capacity(b, "other", "2Gi"); }, "16", put_claim_without_capacity},
    {"capacity, too small", kWithVolume, [](TestBench& b) { put_capacity(b, "made", "2Gi"); },
     [](TestBench& b) { put_capacity(b, "made", "1Gi"); }, "16", put_claim_without_capacity},
    {"CSI driver", kWithVolume, [](TestBench& b) { put_driver(b, "drv", false); },
     [](TestBench& b) { put_driver(b, "other", false); }, "16", put_claim_without_capacity},
    {"CSI node", kWithVolume, [](TestBench& b) { put_limits(b, 2, 1); },
     [](TestBench& b) { put_limits(b, 1, 2); }, "16", put_full_node},
    {"attachment", kWithVolume, [](TestBench& b) { b.erase(Kind::VolumeAttachment, "of drv", ""); },
     [](TestBench& b) { b.erase(Kind::VolumeAttachment, "of other", ""); }, "16", put_full_node},
    {"attached volume", kWithVolume, [](TestBench& b) { b.erase(Kind::PersistentVolume, "of drv", ""); },
     [](TestBench& b) { b.erase(Kind::PersistentVolume, "of other", ""); }, "16", put_full_node},
};

std::size_t decisions_after(const WakeRow& row, Change change) {
  TestBench bench;
  bench.put_node({"n1", row.cpu});
  put_on_node(bench, "large", "3", "");
  put_on_node(bench, "small", "1", "");
  if (row.given) row.given(bench);
  bench.put_claim("c", "fast");
  bench.put_pod({"p", "2", "", std::string(R"(,"preemptionPolicy":"Never")") + row.pod});
  bench.run();
  EXPECT_EQ(bench.decisions.records().size(), 1u) << row.name;
  EXPECT_EQ(bench.node_of("p"), "") << row.name;
  change(bench);
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  return bench.decisions.records().size() - 1;
}

TEST(WakeEvents, TheOneThatMayHelpWakesAndTheOtherDoesNot) {
  for (const std::span<const WakeRow> rows :
       std::initializer_list<std::span<const WakeRow>>{kPodRows, kNodeRows, kDeviceRows, kVolumeRows})
    for (const WakeRow& row : rows) {
      EXPECT_GE(decisions_after(row, row.wakes), 1u) << row.name;
      EXPECT_EQ(decisions_after(row, row.does_not), 0u) << row.name;
    }
}

void put_service(TestBench& bench, const std::string& app, int generation) {
  bench.put(Kind::Other, R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":)"
                         R"("default","generation":)" +
                             std::to_string(generation) + R"(},"spec":{"selector":{"app":")" + app + "\"}}}");
}

// Zone a runs the pod that the Service selects, and zone b is full: 1 + 1 - 0 is more than the skew of 1.
TEST(WakeEvents, AServiceWakesAPodThatDefaultConstraintsRefuse) {
  placement::Profile profile;
  api::SpreadConstraint by_zone;
  by_zone.topology_key = "zone";
  profile.arguments.topology_spread = {false, {by_zone}, {}};
  SchedulerOptions options;
  options.profiles = {profile};
  TestBench bench(std::move(options));
  bench.put_node({"n1", "4", "8Gi", "110", {{"zone", "a"}}});
  bench.put_node({"n2", "1", "8Gi", "110", {{"zone", "b"}}});
  put_on_node(bench, "first", "1", R"("app":"web")");
  put_service(bench, "web", 1);
  bench.put(Kind::Pod, R"({"metadata":{"name":"p","namespace":"default","uid":"p","generation":1,"labels":)"
                       R"({"app":"web"}},"spec":{"schedulerName":"berth","preemptionPolicy":"Never",)"
                       R"("containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}})");
  bench.run();
  EXPECT_EQ(bench.message_of("p"),
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread "
            "constraints. preemption: not eligible due to preemptionPolicy=Never.");
  const auto decisions_after = [&](const std::string& app, int generation) {
    const std::size_t before = bench.decisions.records().size();
    put_service(bench, app, generation);
    bench.now = bench.now + Duration::seconds(20);
    bench.run();
    return bench.decisions.records().size() - before;
  };
  EXPECT_EQ(decisions_after("web", 1), 0u) << "its status changed";
  EXPECT_EQ(decisions_after("db", 2), 1u);
  EXPECT_EQ(bench.node_of("p"), "n1");
}

}  // namespace
}  // namespace berth::scheduling
