// NodeVolumeLimits and VolumeZone: small cases by hand, and what kube-scheduler 1.37.0 said of pods with
// volumes.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <functional>

#include "base/testing/source_dir.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

using api::Kind;

std::string mounts(const std::string& claim) {
  return R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + claim + R"("}}])";
}

// A claim that is bound to a volume of the driver; one handle may have several claims' volumes.
void put_bound(TestBench& bench, const std::string& name, const std::string& handle,
               const std::string& driver = "drv", const std::string& labels = "{}") {
  bench.put(Kind::PersistentVolume, R"({"metadata":{"name":"pv-)" + name + R"(","labels":)" + labels +
                                        R"(},"status":{"phase":"Bound"},"spec":{"csi":{"driver":")" + driver +
                                        R"(","volumeHandle":")" + handle + R"("}}})");
  bench.put(Kind::PersistentVolumeClaim,
            R"({"metadata":{"namespace":"default","name":")" + name + R"(","uid":"uid-)" + name +
                R"(","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"pv-)" +
                name + R"("}})");
}

void put_unbound(TestBench& bench, const std::string& name) {
  bench.put(Kind::StorageClass,
            R"({"metadata":{"name":"made"},"provisioner":"drv","volumeBindingMode":"WaitForFirstConsumer"})");
  bench.put(Kind::PersistentVolumeClaim, R"({"metadata":{"namespace":"default","name":")" + name +
                                             R"(","uid":"uid-)" + name +
                                             R"("},"spec":{"storageClassName":"made"}})");
}

// `allocatable` as JSON; empty: the driver names no limit.
void put_csi_node(TestBench& bench, const std::string& allocatable, const std::string& driver = "drv") {
  bench.put(Kind::CSINode, R"({"metadata":{"name":"n1"},"spec":{"drivers":[{"name":")" + driver +
                               R"(","nodeID":"n1")" +
                               (allocatable.empty() ? "" : R"(,"allocatable":)" + allocatable) + "}]}}");
}

void put_attachment(TestBench& bench, const std::string& volume) {
  bench.put(Kind::VolumeAttachment, R"({"metadata":{"name":"va-)" + volume +
                                        R"("},"spec":{"attacher":"drv","nodeName":"n1","source":)" +
                                        R"({"persistentVolumeName":")" + volume + R"("}}})");
}

// On n1, or with `message` nowhere.
void expect_placed(const TestBench& bench, const std::string& pod, const char* message) {
  EXPECT_EQ(bench.node_of(pod), message ? "" : "n1");
  const std::string said = message ? bench.message_of(pod) : "";
  EXPECT_TRUE(said.starts_with(message ? message : "")) << said;
}

constexpr const char* kOtherZone = "0/1 nodes are available: 1 node(s) had no available volume zone.";
constexpr const char* kTooMany = "0/1 nodes are available: 1 node(s) exceed max volume count.";

struct LimitCase {
  const char* what;
  std::function<void(TestBench&)> given;  // what is on the node n1 before
  std::function<void(TestBench&)> asked;  // makes the claim "asked"
  const char* message;                    // of the pod; null: it is placed
};

void put_two_volumes(TestBench& bench) {
  put_csi_node(bench, R"({"count":2})");
  put_bound(bench, "a", "vol-a");
  put_bound(bench, "b", "vol-b");
  for (const char* name : {"a", "b"}) bench.put_pod({name, "1", "", mounts(name)});
}

void ask_another(TestBench& bench) {
  put_bound(bench, "asked", "vol-c");
}

TEST(NodeVolumeLimits, CountsEachVolumeOfTheNodeOnce) {
  const std::vector<LimitCase> cases = {
      {"a third volume", put_two_volumes, ask_another, kTooMany},
      {"one that is attached already", put_two_volumes,
       [](TestBench& bench) { put_bound(bench, "asked", "vol-a"); }, nullptr},
      {"one that is still to be made", put_two_volumes, [](TestBench& bench) { put_unbound(bench, "asked"); },
       kTooMany},
      {"one of another driver", put_two_volumes,
       [](TestBench& bench) { put_bound(bench, "asked", "vol-c", "other"); }, nullptr},
      {"one that no CSI driver attaches", put_two_volumes,
       [](TestBench& bench) { put_bound(bench, "asked", "", ""); }, nullptr},
      {"two that will be made, and a third",
       [](TestBench& bench) {
         put_csi_node(bench, R"({"count":2})");
         for (const char* name : {"a", "b"}) {
           put_unbound(bench, name);
           bench.put_pod({name, "1", "", mounts(name)});
         }
       },
       ask_another, kTooMany},
      {"a volume that is attached without a pod",
       [](TestBench& bench) {
         put_csi_node(bench, R"({"count":1})");
         put_bound(bench, "left", "vol-left");
         put_attachment(bench, "pv-left");
       },
       ask_another, kTooMany},
      {"a pod and the attachment of its volume count once",
       [](TestBench& bench) {
         put_csi_node(bench, R"({"count":2})");
         put_bound(bench, "a", "vol-a");
         put_attachment(bench, "pv-a");
         bench.put_pod({"a", "1", "", mounts("a")});
       },
       ask_another, nullptr},
      {"a limit of zero", [](TestBench& bench) { put_csi_node(bench, R"({"count":0})"); }, ask_another,
       kTooMany},
      {"no limit", [](TestBench& bench) { put_csi_node(bench, ""); }, ask_another, nullptr},
      {"no CSINode", [](TestBench&) {}, ask_another, nullptr},
  };
  for (const LimitCase& one : cases) {
    SCOPED_TRACE(one.what);
    TestBench bench;
    bench.put_node({"n1"});
    one.given(bench);
    bench.run();
    one.asked(bench);
    bench.put_pod({"asked", "1", "", mounts("asked")});
    bench.run();
    expect_placed(bench, "asked", one.message);
  }
}

TEST(NodeVolumeLimits, MembersOfOneGangCountInItsDecision) {
  for (const int limit : {2, 3}) {
    TestBench bench;
    bench.put_node({"n1"});
    put_csi_node(bench, R"({"count":)" + std::to_string(limit) + "}");
    bench.put_group("g", 3);
    for (const char* name : {"a", "b", "c"}) {
      put_bound(bench, name, std::string("vol-") + name);
      bench.put_pod({name, "1", "g", mounts(name)});
    }
    bench.run();
    EXPECT_EQ(bench.node_of("c"), limit == 3 ? "n1" : "");
    EXPECT_EQ(bench.node_of("a"), limit == 3 ? "n1" : "");
  }
}

TEST(NodeVolumeLimits, ADriverThatMustBeInstalledIs) {
  for (const bool installed : {false, true}) {
    TestBench bench;
    bench.put_node({"n1"});
    bench.put(Kind::CSIDriver,
              R"({"metadata":{"name":"drv"},"spec":{"preventPodSchedulingIfMissing":true}})");
    if (installed) put_csi_node(bench, "");
    ask_another(bench);
    bench.put_pod({"asked", "1", "", mounts("asked")});
    bench.run();
    expect_placed(
        bench, "asked",
        installed ? nullptr : "0/1 nodes are available: 1 drv CSI driver is not installed on the node.");
    if (installed) continue;
    put_csi_node(bench, "");
    bench.run();
    EXPECT_EQ(bench.node_of("asked"), "n1") << "once it is";
  }
}

// Whatever leaves room wakes the pod: a detached volume, a higher limit, a pod that is gone.
TEST(NodeVolumeLimits, RoomWakesThePodsThatWait) {
  const std::vector<std::function<void(TestBench&)>> changes = {
      [](TestBench& bench) { bench.erase(Kind::VolumeAttachment, "va-pv-left", ""); },
      [](TestBench& bench) { put_csi_node(bench, R"({"count":3})"); },
      [](TestBench& bench) { bench.erase(Kind::Pod, "a"); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    TestBench bench;
    bench.put_node({"n1"});
    put_csi_node(bench, R"({"count":2})");
    put_bound(bench, "left", "vol-left");
    put_attachment(bench, "pv-left");
    put_bound(bench, "a", "vol-a");
    bench.put_pod({"a", "1", "", mounts("a")});
    bench.run();
    bench.bind("a");
    ask_another(bench);
    bench.put_pod({"asked", "1", "", mounts("asked")});
    bench.run();
    ASSERT_EQ(bench.node_of("asked"), "");
    changes[i](bench);
    bench.run();
    EXPECT_EQ(bench.node_of("asked"), "n1");
  }
}

struct ZoneCase {
  const char* volume;                         // labels of the volume
  std::map<std::string, std::string> labels;  // of the node
  bool fits;
};

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kOldZone = "failure-domain.beta.kubernetes.io/zone";

TEST(VolumeZone, LabelsOfTheVolumeSelectNodes) {
  const std::vector<ZoneCase> cases = {
      {R"({"topology.kubernetes.io/zone":"a"})", {{kZone, "a"}}, true},
      {R"({"topology.kubernetes.io/zone":"a"})", {{kZone, "b"}}, false},
      {R"({"topology.kubernetes.io/zone":"a__b"})", {{kZone, "b"}}, true},
      {R"({"topology.kubernetes.io/zone":"a____b"})", {{kZone, "c"}}, true},  // no list: does not count
      {R"({"topology.kubernetes.io/zone":"a"})", {}, true},                   // a cluster without zones
      {R"({"topology.kubernetes.io/zone":"a"})", {{"topology.kubernetes.io/region", "r"}}, false},
      {R"({"topology.kubernetes.io/region":"r","topology.kubernetes.io/zone":"a"})",
       {{"topology.kubernetes.io/region", "r"}, {kZone, "b"}},
       false},
      {R"({"failure-domain.beta.kubernetes.io/zone":"a"})", {{kZone, "a"}}, true},
      {R"({"failure-domain.beta.kubernetes.io/zone":"a"})", {{kOldZone, "b"}, {kZone, "a"}}, false},
      {R"({"topology.kubernetes.io/zone":"a"})", {{kOldZone, "a"}}, false},
      {R"({"other":"a"})", {{kZone, "b"}}, true},
  };
  for (const ZoneCase& one : cases) {
    SCOPED_TRACE(one.volume);
    TestBench bench;
    bench.put_node({"n1", "4", "8Gi", "110", one.labels});
    put_bound(bench, "c", "vol", "drv", one.volume);
    bench.put_pod({"p", "1", "", mounts("c")});
    bench.run();
    expect_placed(bench, "p", one.fits ? nullptr : kOtherZone);
  }
}

constexpr std::array<std::pair<std::string_view, Kind>, 8> kKindsOfCases = {{
    {"Node", Kind::Node},
    {"Pod", Kind::Pod},
    {"StorageClass", Kind::StorageClass},
    {"PersistentVolume", Kind::PersistentVolume},
    {"PersistentVolumeClaim", Kind::PersistentVolumeClaim},
    {"CSINode", Kind::CSINode},
    {"CSIDriver", Kind::CSIDriver},
    {"CSIStorageCapacity", Kind::CSIStorageCapacity},
}};

// The cluster of a recorded case; only one of its nodes takes pods, so that the message is about this node.
void put_case(TestBench& bench, const Json& one, std::string_view node) {
  for (Json object : one.items_at("objects"))
    for (const auto& [name, kind] : kKindsOfCases) {
      if (object.string_at("kind") != name) continue;
      if (kind == Kind::Node && object.part("metadata").string_at("name") != node)
        object["status"]["allocatable"]["pods"] = "0";
      if (kind == Kind::Pod) object["spec"]["schedulerName"] = "berth";
      bench.put_json(kind, object);
    }
}

// Disks of in-tree volume types are not compared.
bool is_of_missing_plugin(const Json& verdict) {
  return verdict.string_at("message") == "node(s) had no available disk";
}

// Volumes are asked after the rules about domains here, before them there.
bool is_of_later_plugin(const Json& verdict, const std::string& message) {
  return verdict.string_at("plugin").starts_with("Volume") &&
         message.find("affinity rules") != std::string::npos;
}

TEST(Observed, PodsWithVolumesAreRefusedByTheSameNodesForTheSameReason) {
  std::ifstream file(source_path("tests/data/scheduling/volumes.jsonl"));
  int nodes = 0;
  for (std::string line; std::getline(file, line);) {
    const Json one = *parse_json(line);
    SCOPED_TRACE(std::string(one.string_at("name")));
    const std::string pod(one.string_at("pod"));
    const std::string ns = pod.substr(0, pod.find('/')), name = pod.substr(pod.find('/') + 1);
    for (const JsonMember& node : one.part("nodes").as_object()) {
      if (is_of_missing_plugin(node.value)) continue;
      SCOPED_TRACE(node.key);
      TestBench bench;
      put_case(bench, one, node.key);
      bench.run();
      const bool feasible = node.value.bool_at("feasible");
      const api::Pod& live = *bench.view.pods.find(ns, name);
      ++nodes;
      const api::Condition* said = api::find_condition(live.conditions, "PodScheduled");
      EXPECT_EQ(bench.node_of(name, ns), feasible ? node.key : "") << (said ? said->message : "");
      if (feasible || !said || is_of_later_plugin(node.value, said->message)) continue;
      const std::string wanted(node.value.string_at("message"));
      for (std::size_t begin = 0; begin < wanted.size();) {
        const std::size_t end = std::min(wanted.find(", ", begin), wanted.size());
        EXPECT_NE(said->message.find(wanted.substr(begin, end - begin)), std::string::npos)
            << wanted << " / " << said->message;
        begin = end + 2;
      }
    }
  }
  EXPECT_GT(nodes, 130);
}

}  // namespace
}  // namespace berth::scheduling
