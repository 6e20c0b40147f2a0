// Input that no user means: a named reason for the pod that has it, and a place for all others.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

using api::Kind;

std::string repeated(int count, const std::string& item) {
  std::string all;
  for (int i = 0; i < count; ++i) all += (i == 0 ? "" : ",") + item;
  return all;
}

std::string affinity(int terms, const std::string& selector) {
  return R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
         repeated(terms, R"({"topologyKey":"kubernetes.io/hostname","labelSelector":)" + selector + "}") +
         "]}}";
}

std::string node_affinity(int terms, const std::string& expression) {
  return R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
         R"({"nodeSelectorTerms":[)" +
         repeated(terms, R"({"matchExpressions":[{"key":"kubernetes.io/hostname",)" + expression + "}]}") +
         "]}}}";
}

struct BadPod {
  const char* name;
  PodSpec pod;
  const char* node;  // "": it waits
  const char* message;
  void (*given)(TestBench&) = [](TestBench&) {};
};

constexpr const char* kWithData = R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}])";

void put_claim_of_class(TestBench& bench, const std::string& storage_class) {
  bench.put(Kind::PersistentVolumeClaim,
            R"({"metadata":{"namespace":"default","name":"data","uid":"u"},"spec":{)" +
                (storage_class.empty() ? "" : R"("storageClassName":")" + storage_class + "\",") +
                R"("accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}}}})");
}

void put_driver_that_must_be_there(TestBench& bench) {
  bench.put(Kind::StorageClass, R"({"metadata":{"name":"made"},"provisioner":"drv","volumeBindingMode":)"
                                R"("WaitForFirstConsumer"})");
  put_claim_of_class(bench, "made");
  bench.put(Kind::CSIDriver, R"({"metadata":{"name":"drv"},"spec":{"preventPodSchedulingIfMissing":true}})");
  for (const char* node : {"n1", "n2"})
    bench.put(Kind::CSINode, R"({"metadata":{"name":")" + std::string(node) + R"("},"spec":{"drivers":[)" +
                                 R"({"name":"other","nodeID":"x","allocatable":{"count":5}}]}})");
}

const BadPod kBadPods[] = {
    {"1,000 terms", {"bad", "1", "", affinity(1000, R"({"matchLabels":{"app":"a"}})")}, "n2", ""},
    {"5,000 terms",
     {"bad", "1", "", affinity(5000, R"({"matchLabels":{"app":"a"}})")},
     "",
     "pod sets more than 4096 terms of spec.affinity between pods, which Berth does not honour"},
    {"an operator that does not exist",
     {"bad", "1", "",
      affinity(1, R"({"matchExpressions":[{"key":"app","operator":"Near","values":["a"]}]})")},
     "n2",
     ""},
    {"1,000 terms about nodes",
     {"bad", "1", "", node_affinity(1000, R"("operator":"In","values":["n2"])")},
     "n2",
     ""},
    {"an operator about nodes that does not exist",
     {"bad", "1", "", node_affinity(1, R"("operator":"Near","values":["n2"])")},
     "",
     "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."},
    {"a bound that is no number",
     {"bad", "1", "", node_affinity(1, R"("operator":"Gt","values":["many"])")},
     "",
     "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."},
    {"spread over a label that no node has",
     {"bad", "1", "",
      R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"row",)"
      R"("whenUnsatisfiable":"DoNotSchedule"}])"},
     "",
     "2 node(s) didn't match pod topology spread constraints (missing required label)."},
    {"2^63 cpus", {"bad", "9223372036854775808"}, "", "0/2 nodes are available: 2 Insufficient cpu."},
    {"1e30 cpus", {"bad", "1e30"}, "", "0/2 nodes are available: 2 Insufficient cpu."},
    {"2^64 bytes of memory",
     {"bad", "1", "", "", "18446744073709551616"},
     "",
     "0/2 nodes are available: 2 Insufficient memory."},
    {"as much as the larger node has, above 2^56", {"bad", "1", "", "", "144115188075855873"}, "n2", ""},
    {"one byte more", {"bad", "1", "", "", "144115188075855874"}, "", "2 Insufficient memory."},
    {"a claim without a class, and no default",
     {"bad", "1", "", kWithData},
     "",
     "pod has unbound immediate PersistentVolumeClaims",
     [](TestBench& bench) { put_claim_of_class(bench, ""); }},
    {"a claim of a class that does not exist",
     {"bad", "1", "", kWithData},
     "",
     "pod has unbound immediate PersistentVolumeClaims",
     [](TestBench& bench) { put_claim_of_class(bench, "nowhere"); }},
    {"nodes without the CSI driver",
     {"bad", "1", "", kWithData},
     "",
     "2 drv CSI driver is not installed on the node.",
     put_driver_that_must_be_there},
    {"10,000 tolerations",
     {"bad", "1", "", R"(,"tolerations":[)" + repeated(10'000, R"({"key":"k","operator":"Exists"})") + "]"},
     "n2",
     ""},
};

class BadInput : public testing::Test {
 protected:
  BadInput() {
    bench.put_node({"n1", "8", "8Gi"});
    bench.put_node({"n2", "8", "144115188075855873"});
  }
  // One that nothing is wrong with.
  void expect_others_are_placed() {
    bench.put_pod({"good", "1", "", R"(,"priority":-1)"});
    bench.run();
    EXPECT_NE(bench.node_of("good"), "") << bench.message_of("good");
  }

  TestBench bench;
};

TEST_F(BadInput, OfAPodNamesItselfAndHarmsNoOther) {
  for (const BadPod& row : kBadPods) {
    SCOPED_TRACE(row.name);
    row.given(bench);
    bench.put_pod(row.pod);
    expect_others_are_placed();
    EXPECT_EQ(bench.node_of("bad"), row.node);
    EXPECT_NE(bench.message_of("bad").find(row.message), std::string::npos) << bench.message_of("bad");
    for (const char* pod : {"bad", "good"}) bench.erase(Kind::Pod, pod);
    bench.erase(Kind::PersistentVolumeClaim, "data");
    for (const auto& [key, request] : std::map(bench.view.bind_requests.all()))
      bench.erase(Kind::BindRequest, request->meta.name);
    bench.run();
  }
}

TEST_F(BadInput, OfANodeWith10000TaintsKeepsPodsFromThatNodeAlone) {
  std::string taints;
  for (int i = 0; i < 10'000; ++i)
    taints +=
        (i == 0 ? "" : ",") + std::string(R"({"key":"k)") + std::to_string(i) + R"(","effect":"NoSchedule"})";
  bench.put_node({"n1", "8", "8Gi", "110", {}, R"({"taints":[)" + taints + "]}"});
  bench.put_pod({"tolerant", "1", "",
                 R"(,"tolerations":[{"operator":"Exists"}],"nodeSelector":{"kubernetes.io/hostname":"n1"})"});
  bench.put_pod({"bad", "1", "", R"(,"nodeSelector":{"kubernetes.io/hostname":"n1"})"});
  expect_others_are_placed();
  EXPECT_EQ(bench.node_of("good"), "n2");
  EXPECT_EQ(bench.node_of("tolerant"), "n1");
  EXPECT_TRUE(
      bench.message_of("bad").starts_with("0/2 nodes are available: 1 node(s) didn't match Pod's node "
                                          "affinity/selector, 1 node(s) had untolerated "
                                          "taint(s)."))
      << bench.message_of("bad").substr(0, 300);
  EXPECT_LT(bench.event_of("bad").size(), 2000u);
}

// Each is nominated to the node that the other needs: their room there is given up with the first refusal.
TEST_F(BadInput, NominationsInACircleEnd) {
  const std::string evicts = R"(,"preemptionPolicy":"Never")";
  for (const auto& [pod, needs, nominated] :
       {std::tuple("a", "n1", "n2"), std::tuple("b", "n2", "n3"), std::tuple("c", "n3", "n1")}) {
    bench.put_node({needs, "8", "8Gi"});
    bench.put_pod({pod, "6", "", evicts + R"(,"nodeSelector":{"kubernetes.io/hostname":")" + needs + "\"}"});
    Json nominating = *parse_json(*bench.view.pods.find("default", pod)->raw);
    nominating["status"]["nominatedNodeName"] = nominated;
    bench.put_json(Kind::Pod, std::move(nominating));
  }
  for (int i = 0; i < 10; ++i) {
    bench.run();
    bench.now = bench.now + Duration::seconds(2);
  }
  EXPECT_EQ(bench.node_of("a"), "n1");
  EXPECT_EQ(bench.node_of("b"), "n2");
  EXPECT_EQ(bench.node_of("c"), "n3");
  expect_others_are_placed();
}

}  // namespace
}  // namespace berth::scheduling
