// Devices that take cpu and memory of their node (KEP-5517): what fits, what is recorded, and the sentences
// of refusals.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

SchedulerOptions with_gate(bool on) {
  SchedulerOptions options;
  options.gates.node_allocatable_resources = on;
  return options;
}

constexpr const char* kTwoCpus = R"({"cpu":{"mapping":{"deviceMultiplier":"2"}}})";
constexpr const char* kOverhead = R"({"cpu":{"overhead":{"perPod":"1"}}})";
constexpr const char* kPerContainer = R"({"cpu":{"overhead":{"perContainer":"2"}}})";

class NodeAllocatable : public ::testing::Test {
 protected:
  explicit NodeAllocatable(bool on = true) : bench(with_gate(on)) { bench.put_class("gpu", "true"); }

  // Devices d0… on the node; `takes` has each device's mappings.
  void put_devices(const std::string& node, const std::vector<std::string>& takes) {
    std::string devices;
    for (std::size_t i = 0; i < takes.size(); ++i)
      devices += (i == 0 ? "" : ",") + (R"({"name":"d)" + std::to_string(i)) + "\"" +
                 (takes[i].empty() ? "" : R"(,"nodeAllocatableResources":)" + takes[i]) + "}";
    bench.put(api::Kind::ResourceSlice,
              R"({"metadata":{"name":"s-)" + node + R"("},"spec":{"driver":"drv","nodeName":")" + node +
                  R"(","pool":{"name":")" + node + R"(","generation":1,"resourceSliceCount":1},"devices":[)" +
                  devices + "]}}");
  }
  // A pod with a claim of its own name; the first `naming` of its two containers use it.
  void put_pod(const std::string& name, const std::string& cpu, int naming = 1,
               const std::string& more = "") {
    bench.put_claim(name, "gpu");
    put_user(name, name, cpu, naming, more);
  }
  void put_user(const std::string& name, const std::string& claim, const std::string& cpu, int naming = 1,
                const std::string& more = "") {
    std::string containers;
    for (int i = 0; i < 2; ++i)
      containers += std::string(i == 0 ? "" : ",") + R"({"name":"c)" + std::to_string(i) +
                    R"(","resources":{"requests":{)" +
                    (i == 0 ? R"("cpu":")" + cpu + R"(","memory":"1")" : "") + "}" +
                    (i < naming ? R"(,"claims":[{"name":"dev"}])" : "") + "}}";
    bench.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-)" +
                                  name + R"("},"spec":{"schedulerName":"berth","containers":[)" + containers +
                                  R"(],"resourceClaims":[{"name":"dev","resourceClaimName":")" + claim +
                                  "\"}]" + more + R"(},"status":{"phase":"Pending"}})");
  }
  const api::BindRequest& request_of(const std::string& pod) {
    const auto requests = bench.view.bind_requests_of_pod("default", pod);
    static const api::BindRequest none;
    EXPECT_FALSE(requests.empty()) << pod << " has no bind request: " << bench.message_of(pod);
    return requests.empty() ? none : *requests.front();
  }
  // The pod ends and its claim is gone.
  void finish(const std::string& pod) {
    if (!bench.node_of(pod).empty())
      bench.erase(api::Kind::BindRequest, api::bind_request_name(pod, "uid-" + pod));
    bench.erase(api::Kind::Pod, pod);
    bench.erase(api::Kind::ResourceClaim, pod);
    bench.now = bench.now + Duration::seconds(30);
    bench.run();
  }
  bool told(const std::string& pod, const std::string& text) {
    const bool found = bench.event_of(pod).find(text) != std::string::npos;
    if (!found) ADD_FAILURE() << pod << ": " << bench.event_of(pod);
    return found;
  }

  TestBench bench;
};

class WithoutGate : public NodeAllocatable {
 protected:
  WithoutGate() : NodeAllocatable(false) {}
};

TEST_F(WithoutGate, TheFieldIsIgnored) {
  bench.put_node({"n1", "1"});
  put_devices("n1", {kTwoCpus});
  put_pod("p", "1");
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
  EXPECT_TRUE(request_of("p").node_allocatable.empty());
}

TEST_F(NodeAllocatable, WhatDevicesTakeMustFit) {
  bench.put_node({"n1", "2"});
  put_devices("n1", {kTwoCpus});
  put_pod("p", "1");
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "");
  told("p",
       "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
       "1 Preemption is not helpful for scheduling.");
  told("p", "its devices take 2 cpu of the node");
  bench.put_node({"n1", "3"});
  bench.now = bench.now + Duration::seconds(30);
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
  EXPECT_EQ(to_string(api::to_json(request_of("p").node_allocatable)),
            R"([{"resourceClaimName":"p","containers":["c0"],"mapping":[{"name":"cpu","quantity":"2"}]}])");
}

TEST_F(NodeAllocatable, AnotherNodeIsTakenWhereTheBestHasNoRoom) {
  bench.put_node({"n1", "8"});
  bench.put_node({"n2", "5"});
  put_devices("n1", {R"({"memory":{"overhead":{"perPod":"1Ti"}}})"});
  put_devices("n2", {kTwoCpus});
  put_pod("p", "1");
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n2");
}

TEST_F(NodeAllocatable, ADeviceThatTakesLessIsChosenWhereTheFirstOneTakesTooMuch) {
  bench.put_node({"n1", "4"});
  put_devices("n1", {R"({"cpu":{"mapping":{"deviceMultiplier":"8"}}})",
                     R"({"cpu":{"mapping":{"deviceMultiplier":"6"}}})", kTwoCpus, kOverhead});
  const auto device_of = [&](const char* pod) {
    return request_of(pod).claims.at(0).allocation.results.at(0).device;
  };
  put_pod("p", "1");
  bench.run();
  EXPECT_EQ(device_of("p"), "d2") << "the first in the order of the slice that the node has room for";
  bench.put_node({"n1", "8"});
  put_pod("q", "4");
  bench.run();
  EXPECT_EQ(device_of("q"), "d3");
  put_pod("r", "1");
  bench.run();
  EXPECT_EQ(bench.node_of("r"), "");
  told("r", "Insufficient cpu");
}

TEST_F(NodeAllocatable, AKeptVerdictDoesNotOutliveTheCharge) {
  bench.put_node({"n1", "4"});
  put_devices("n1", {kTwoCpus, kTwoCpus});
  bench.put_pod({"plain-1", "1"});
  bench.run();
  EXPECT_EQ(bench.node_of("plain-1"), "n1") << "and that n1 has room for its shape is known from now on";
  put_pod("p", "1");
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
  bench.put_pod({"plain-2", "1"});
  put_pod("q", "1");
  bench.run();
  EXPECT_EQ(bench.node_of("plain-2"), "") << "the device of p took what was left";
  EXPECT_EQ(bench.node_of("q"), "");
  finish("p");
  EXPECT_EQ(bench.node_of("q"), "n1") << "nor does a no";
  EXPECT_EQ(bench.node_of("plain-2"), "");
}

TEST_F(NodeAllocatable, PodsThatDifferInWhatTheirDevicesTakeShareNoVerdict) {
  bench.put_node({"n1", "4"});
  put_devices("n1", {kPerContainer});
  put_pod("two", "1", 2);
  bench.run();
  told("two", "Insufficient cpu");
  put_pod("one", "1", 1);
  bench.run();
  EXPECT_EQ(bench.node_of("one"), "n1");
}

TEST_F(NodeAllocatable, AMappedClaimIsForOnePod) {
  bench.put_node({"n1", "8"});
  put_devices("n1", {kTwoCpus});
  put_pod("p", "1");
  bench.run();
  Json claim = *parse_json(*bench.view.claims.find("default", "p")->raw);
  claim["status"]["allocation"] = api::to_json(request_of("p").claims.at(0).allocation);
  claim["status"]["reservedFor"] = Json::array({api::to_json(api::ClaimConsumer{"", "pods", "p", "uid-p"})});
  bench.put_json(api::Kind::ResourceClaim, claim);
  put_user("q", "p", "1");
  bench.run();
  EXPECT_EQ(bench.node_of("q"), "");
  told("q", "1 node allocatable resource claim p has a mapped device and cannot be shared across pods");
}

TEST_F(NodeAllocatable, OverheadIsPaidByEachPodOfAClaim) {
  bench.put_node({"n1", "5"});
  put_devices("n1", {kOverhead});
  bench.put_group("g", 2);
  bench.put_claim("shared", "gpu");
  const std::string group = R"(,"schedulingGroup":{"podGroupName":"g"})";
  for (const char* name : {"a", "b"}) put_user(name, "shared", "1", 1, group);
  bench.run();
  EXPECT_EQ(bench.node_of("a"), "n1");
  EXPECT_EQ(bench.node_of("b"), "n1");
  EXPECT_EQ(request_of("a").node_allocatable, request_of("b").node_allocatable);
  bench.put_pod({"big", "2"});
  bench.put_pod({"small", "1"});
  bench.run();
  EXPECT_EQ(bench.node_of("big"), "") << "of 5 cpu the two pods and twice the overhead leave 1";
  EXPECT_EQ(bench.node_of("small"), "n1");
}

TEST_F(NodeAllocatable, AGangCountsWhatItsDevicesTake) {
  bench.put_node({"n1", "5"});
  put_devices("n1", {kTwoCpus, kTwoCpus});
  bench.put_group("g", 2);
  const std::string group = R"(,"schedulingGroup":{"podGroupName":"g"})";
  for (const char* name : {"a", "b"}) put_pod(name, "1", 1, group);
  bench.run();
  EXPECT_EQ(bench.node_of("a"), "");
  EXPECT_EQ(bench.node_of("b"), "");
  bench.put_node({"n2", "3"});
  put_devices("n2", {kTwoCpus});
  bench.now = bench.now + Duration::seconds(30);
  bench.run();
  EXPECT_NE(bench.node_of("a"), bench.node_of("b"));
  EXPECT_EQ(request_of("b").node_allocatable.at(0).claim_name, "b");
}

TEST_F(NodeAllocatable, MembersOfAGangDoNotShareAMappedClaim) {
  bench.put_node({"n1", "8"});
  put_devices("n1", {kTwoCpus});
  bench.put_group("g", 2);
  bench.put_claim("shared", "gpu");
  const std::string group = R"(,"schedulingGroup":{"podGroupName":"g"})";
  for (const char* name : {"a", "b"}) put_user(name, "shared", "1", 1, group);
  bench.run();
  EXPECT_EQ(bench.node_of("a"), "");
  told("b", "has a mapped device and cannot be shared across pods");
}

// kube-scheduler retries without end: the pod's status cannot record a claim that neither the pod nor its
// status names.
TEST_F(NodeAllocatable, K141467_ExtendedResourcesAreNotServedByDevicesThatTake) {
  bench.put(api::Kind::DeviceClass,
            R"({"metadata":{"name":"ext"},"spec":{"extendedResourceName":"example.com/gpu",)"
            R"("selectors":[{"cel":{"expression":"true"}}]}})");
  bench.put_node({"n1", "8"});
  put_devices("n1", {kOverhead});
  bench.put(api::Kind::Pod,
            R"({"metadata":{"name":"p","namespace":"default"},"spec":{"schedulerName":"berth","containers":[)"
            R"({"name":"c","resources":{"requests":{"cpu":"1","example.com/gpu":"1"}}}]}})");
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "");
  told("p", "extended resources would be served by devices that take resources of the node");
  put_devices("n1", {""});
  bench.now = bench.now + Duration::seconds(30);
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
}

TEST_F(NodeAllocatable, PodLevelResourcesMustCoverThem) {
  bench.put_node({"n1", "8"});
  const struct {
    const char *name, *resources, *message;
  } rows[] = {
      {"fits", R"({"requests":{"cpu":"3"},"limits":{"cpu":"3"}})", ""},
      {"requests", R"({"requests":{"cpu":"2500m"}})",
       "pod level request for cpu is insufficient to cover the aggregated container and node-allocatable DRA "
       "requests"},
  };
  for (const auto& row : rows) {
    put_devices("n1", {kTwoCpus});
    put_pod(row.name, "1", 1, R"(,"resources":)" + std::string(row.resources));
    bench.run();
    if (*row.message == '\0')
      EXPECT_EQ(bench.node_of(row.name), "n1") << bench.message_of(row.name);
    else
      told(row.name, row.message);
    finish(row.name);
  }
}

TEST_F(NodeAllocatable, AnUnknownAmountIsAnError) {
  bench.put_node({"n1", "8"});
  put_devices("n1", {R"({"cpu":{"mapping":{"capacityKey":"cores","capacityMultiplier":"1"}}})"});
  put_pod("p", "1");
  bench.run();
  EXPECT_EQ(bench.reason_of("p"), "SchedulerError");
  EXPECT_EQ(
      bench.message_of("p"),
      "running \"DynamicResources\" filter plugin: claim default/p, device d0: ConsumedCapacity is nil, "
      "but Capacity key 'cores' is set in NodeAllocatableResources for resource cpu");
}

}  // namespace
}  // namespace berth::scheduling
