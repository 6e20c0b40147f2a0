// Shares of GPUs: objects in, BindRequests and sentences out.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

// `gpus` GPUs of `memory_mib` each; 0: the label is missing.
void put_gpu_node(TestBench& bench, const std::string& name, int gpus, int memory_mib = 0) {
  NodeSpec node{name};
  node.cpu = "64";
  node.allocatable = R"(,"nvidia.com/gpu":")" + std::to_string(gpus) + "\"";
  if (memory_mib > 0) node.labels["nvidia.com/gpu.memory"] = std::to_string(memory_mib);
  bench.put_node(node);
}

// `annotations`: members of metadata.annotations.
void put_share_pod(TestBench& bench, const std::string& name, const std::string& annotations,
                   const std::string& rest = "") {
  bench.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":")" + name +
                                R"(-uid","annotations":{)" + annotations +
                                R"(}},"spec":{"schedulerName":"berth",)" + rest +
                                R"("containers":[{"name":"c"}]}})");
}
void put_half(TestBench& bench, const std::string& name) {
  put_share_pod(bench, name, R"("gpu-fraction":"0.5")");
}
void put_whole(TestBench& bench, const std::string& name) {
  bench.put_pod({.name = name, .spec = "", .uid = name + "-uid"});
  bench.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":")" + name +
                                R"(-uid"},"spec":{"schedulerName":"berth","containers":[{"name":"c",)" +
                                R"("resources":{"requests":{"nvidia.com/gpu":"1"}}}]}})");
}

// "n1 gpu-0,gpu-1 0.50", or "" for a pod without a decision.
std::string share_of(const TestBench& bench, const std::string& pod) {
  const auto requests = bench.view.bind_requests_of_pod("default", pod);
  if (requests.empty()) return "";
  std::string text = requests[0]->node;
  const char* between = " ";
  for (const std::string& group : requests[0]->gpu_share.groups) {
    text += between + group;
    between = ",";
  }
  return text + " " + api::gpu_portion(requests[0]->gpu_share.hundredths);
}

// The condition's sentence without its part about preemption.
std::string refusal_of(const TestBench& bench, const std::string& pod) {
  const std::string message = bench.message_of(pod);
  return message.substr(0, message.find(" preemption: "));
}

TEST(GpuSharing, TwoHalvesAreOneGpuAndAThirdTakesAnother) {
  TestBench bench;
  put_gpu_node(bench, "n1", 2);
  put_gpu_node(bench, "n2", 2);
  for (const char* pod : {"a", "b", "c"}) put_half(bench, pod);
  bench.run();
  EXPECT_EQ(share_of(bench, "a"), "n1 gpu-0 0.50");
  EXPECT_EQ(share_of(bench, "b"), "n1 gpu-0 0.50") << "a GPU that is shared already goes first";
  EXPECT_EQ(share_of(bench, "c"), "n2 gpu-0 0.50") << "the emptier node, as both need a whole GPU";
  EXPECT_EQ(bench.view.bind_requests_of_pod("default", "a")[0]->received_resource_type, "Fraction");
  EXPECT_EQ(bench.view.bind_requests_of_pod("default", "a")[0]->received_gpu_count, 1);
}

TEST(GpuSharing, ASharedGpuIsNoWholeOne) {
  TestBench bench;
  put_gpu_node(bench, "n1", 2);
  put_half(bench, "a");
  bench.run();
  put_whole(bench, "whole");
  bench.run();
  EXPECT_EQ(bench.node_of("whole"), "n1");
  put_whole(bench, "second");
  put_share_pod(bench, "most", R"("gpu-fraction":"0.6")");
  bench.run();
  EXPECT_EQ(refusal_of(bench, "second"), "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
  EXPECT_EQ(share_of(bench, "most"), "");
  EXPECT_EQ(refusal_of(bench, "most"), "0/1 nodes are available: 1 node(s) had no GPU with 0.60 left.");
  bench.erase(api::Kind::Pod, "whole");
  bench.erase(api::Kind::BindRequest, api::bind_request_name("whole", "whole-uid"));
  bench.run();
  EXPECT_TRUE(share_of(bench, "most") == "n1 gpu-1 0.60" || bench.node_of("second") == "n1");
}

TEST(GpuSharing, MemoryIsAShareOfTheNodesGpus) {
  TestBench bench;
  put_gpu_node(bench, "known", 1, 16384);
  put_gpu_node(bench, "small", 8, 4096);
  put_gpu_node(bench, "unknown", 8);
  put_share_pod(bench, "a", R"("gpu-memory":"8000")");
  bench.run();
  EXPECT_EQ(share_of(bench, "a"), "known gpu-0 0.49");
  put_share_pod(bench, "b", R"("gpu-memory":"9000")");
  bench.run();
  EXPECT_EQ(
      refusal_of(bench, "b"),
      "0/3 nodes are available: 1 node(s) had no GPU with 9000 MiB (rounded up to 0.55 of each, 9012 MiB) "
      "left, 2 node(s) had no GPU with 9000 MiB.");
}

TEST(GpuSharing, SeveralDevicesAreOnSeveralGpus) {
  TestBench bench;
  put_gpu_node(bench, "n1", 3);
  put_half(bench, "a");
  bench.run();
  put_share_pod(bench, "two", R"("gpu-fraction":"0.3","gpu-fraction-num-devices":"2")");
  bench.run();
  EXPECT_EQ(share_of(bench, "two"), "n1 gpu-0,gpu-1 0.30");
  put_share_pod(bench, "four", R"("gpu-fraction":"0.1","gpu-fraction-num-devices":"4")");
  bench.run();
  EXPECT_EQ(refusal_of(bench, "four"), "0/1 nodes are available: 1 node(s) had no 4 GPUs with 0.10.");
}

TEST(GpuSharing, AnnotationsThatBreakTheRulesNameThemselves) {
  TestBench bench;
  put_gpu_node(bench, "n1", 2);
  put_share_pod(bench, "a", R"("gpu-fraction":"2")");
  bench.run();
  EXPECT_EQ(share_of(bench, "a"), "");
  EXPECT_NE(bench.message_of("a").find("annotations that break the rules: see gpu-fraction and gpu-memory"),
            std::string::npos)
      << bench.message_of("a");
}

TEST(GpuSharing, AGangFillsGpusTogetherOrNotAtAll) {
  TestBench bench;
  put_gpu_node(bench, "n1", 1);
  put_gpu_node(bench, "n2", 1);
  bench.put_group("g", 5);
  for (int i = 0; i < 5; ++i)
    put_share_pod(bench, "m" + std::to_string(i), R"("gpu-fraction":"0.5")",
                  R"("schedulingGroup":{"podGroupName":"g"},)");
  bench.run();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(share_of(bench, "m" + std::to_string(i)), "");
  put_gpu_node(bench, "n3", 1);
  bench.run();
  std::map<std::string, int> pods_of;
  for (int i = 0; i < 5; ++i) ++pods_of[share_of(bench, "m" + std::to_string(i))];
  EXPECT_EQ(pods_of.size(), 3u) << ::testing::PrintToString(pods_of);
  for (const auto& [share, pods] : pods_of) EXPECT_LE(pods, 2) << share;
}

// `two` needs both GPUs, and one of them is in use: what is reserved for it is no GPU yet.
TEST(GpuSharing, AReservedGpuThatIsStillInUseIsSharedWithNobody) {
  TestBench bench;
  put_gpu_node(bench, "n1", 2);
  put_whole(bench, "whole");
  bench.run();
  bench.bind("whole");
  put_share_pod(bench, "two", R"("gpu-fraction":"0.3","gpu-fraction-num-devices":"2")",
                R"("priority":10,"preemptionPolicy":"Never",)");
  bench.run();
  bench.put_pod({"overtakes"});
  bench.run();
  bench.now = bench.now + Duration::seconds(21);
  bench.run();
  ASSERT_EQ(bench.scheduler.cluster().ledger().holds().size(), 1u);
  put_share_pod(bench, "other", R"("gpu-fraction":"0.5","gpu-fraction-num-devices":"2")");
  bench.run();
  EXPECT_EQ(share_of(bench, "other"), "");
  bench.erase(api::Kind::Pod, "whole");
  bench.now = bench.now + Duration::seconds(1);
  bench.run();
  EXPECT_EQ(share_of(bench, "two"), "n1 gpu-0,gpu-1 0.30");
  bench.now = bench.now + Duration::seconds(30);
  bench.run();
  EXPECT_EQ(share_of(bench, "other"), "n1 gpu-0,gpu-1 0.50");
}

// A reservation pod has a high priority of its own, and ends with the last pod that shares its GPU.
TEST(GpuSharing, ARoomIsFoundWithoutTheReservationPodsOfLowerPriorities) {
  TestBench bench;
  put_gpu_node(bench, "n1", 1);
  put_share_pod(bench, "half",
                R"("gpu-fraction":"0.5","scheduling.berth.dev/gpu-groups":"gpu-0",)"
                R"("scheduling.berth.dev/gpu-portion":"0.50")",
                R"("nodeName":"n1",)");
  const std::string one_gpu =
      R"("containers":[{"name":"c","resources":{"requests":{"nvidia.com/gpu":"1"}}}]}})";
  bench.put(api::Kind::Pod,
            R"({"metadata":{"name":")" + api::gpu_reservation_name("n1", "gpu-0") +
                R"(","namespace":"kube-system","annotations":{"scheduling.berth.dev/gpu-group":)"
                R"("gpu-0"}},"spec":{"nodeName":"n1","priority":2000001000,)" +
                one_gpu);
  bench.put(api::Kind::Pod, R"({"metadata":{"name":"whole","namespace":"default"},"spec":{"schedulerName":)"
                            R"("berth","priority":10,)" +
                                one_gpu);
  bench.run();
  bench.put_pod({"overtakes"});
  bench.run();
  EXPECT_EQ(bench.node_of("overtakes"), "n1");
  bench.now = bench.now + Duration::seconds(21);
  bench.run();
  EXPECT_EQ(bench.scheduler.cluster().ledger().holds().size(), 1u);
}

// What bound pods and BindRequests say is all that is left after a restart.
TEST(GpuSharing, AnotherSchedulerGoesOnFromTheLiveObjects) {
  TestBench before;
  put_gpu_node(before, "n1", 1);
  put_half(before, "a");
  before.run();
  TestBench after;
  put_gpu_node(after, "n1", 1);
  put_half(after, "a");
  const api::BindRequest& request = *before.view.bind_requests_of_pod("default", "a")[0];
  Json object = api::bind_request_object(request);
  object["metadata"]["uid"] = "u";
  after.put_json(api::Kind::BindRequest, object);
  put_share_pod(after, "b", R"("gpu-fraction":"0.6")");
  after.run();
  EXPECT_EQ(share_of(after, "b"), "") << "the BindRequest has half of the only GPU";
  put_half(after, "c");
  after.run();
  EXPECT_EQ(share_of(after, "c"), "n1 gpu-0 0.50");
}

}  // namespace
}  // namespace berth::scheduling
