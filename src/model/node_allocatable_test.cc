// From slices, allocations and a pod's containers to the pod's charges, whichever object records them.
#include "model/node_allocatable.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace berth::model {
namespace {

class NodeAllocatableTest : public ::testing::Test {
 protected:
  template <class T>
  void put(api::Kind kind, T object) {
    object.meta.resource_version = ++version_;
    const api::ObjectKey key{kind, object.meta.ns, object.meta.name};
    if (const auto delta = view_.put(key, std::make_shared<const T>(std::move(object)))) {
      cluster.apply(*delta);
      ignoring.apply(*delta);
    }
  }
  void put_slice(const std::string& devices, int generation = 1) {
    const Json json =
        *parse_json(R"({"metadata":{"name":"s)" + std::to_string(generation) +
                    R"("},"spec":{"driver":"d","nodeName":"n","pool":{"name":"p","generation":)" +
                    std::to_string(generation) + R"(,"resourceSliceCount":1},"devices":[)" + devices + "]}}");
    put(api::Kind::ResourceSlice, api::decode_resource_slice(json, nullptr));
  }
  static api::Pod pod(const std::string& containers = "") {
    const Json json = *parse_json(
        R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"containers":[)" + containers + "]}}");
    return api::decode_pod(json, nullptr);
  }
  static api::Allocation allocation(const std::string& results) {
    return api::decode_allocation(*parse_json(R"({"devices":{"results":[)" + results + "]}}"));
  }
  static std::string result(const std::string& device, const std::string& more = "") {
    return R"({"request":"r","driver":"d","pool":"p","device":")" + device + "\"" + more + "}";
  }
  std::string text(const api::Pod& pod, const api::Allocation& allocation) const {
    const auto taken = node_allocatable(cluster, pod, {{"dev", "claim", &allocation}});
    if (!taken) return taken.error().message();
    return *taken ? to_string(api::to_json(**taken)) : "nothing";
  }
  static std::int64_t requested(const Cluster& cluster, ResourceId resource) {
    return amount_in(cluster.ledger().node(cluster.find_node("n")).requested, resource);
  }

  client::View view_;
  Cluster cluster{NodeAllocatable::Counted};
  Cluster ignoring;
  std::uint64_t version_ = 0;
};

TEST_F(NodeAllocatableTest, EachDeviceAddsToItsClaim) {
  put_slice(R"({"name":"g0","nodeAllocatableResources":{"cpu":{"mapping":{"deviceMultiplier":"1500m"}},
              "memory":{"overhead":{"perPod":"1Gi","perContainer":"10Mi"}}}},
              {"name":"g1","nodeAllocatableResources":{"cpu":{"mapping":{"deviceMultiplier":"2"}},
              "memory":{"overhead":{"perPod":"1Gi"}}}},
              {"name":"plain"},
              {"name":"cores","allowMultipleAllocations":true,"capacity":{"k":{"value":"8"}},
               "nodeAllocatableResources":{"cpu":{"mapping":
               {"capacityKey":"k","capacityMultiplier":"2"}}}})");
  const struct {
    const char* what;
    std::string results, text;
  } rows[] = {
      {"nothing", result("plain"), "nothing"},
      {"sums", result("g0") + "," + result("g1") + "," + result("plain"),
       R"([{"resourceClaimName":"claim","mapping":[{"name":"cpu","quantity":"3500m"}],)"
       R"("overhead":[{"name":"memory","perPod":"2Gi","perContainer":"10Mi"}]}])"},
      {"capacity", result("cores", R"(,"consumedCapacity":{"k":"3"})"),
       R"([{"resourceClaimName":"claim","mapping":[{"name":"cpu","quantity":"6"}]}])"},
      {"other capacity", result("cores", R"(,"consumedCapacity":{"other":"3"})"), "nothing"},
      {"admin", result("cores", R"(,"adminAccess":true)"), "nothing"},
      {"no capacity", result("cores"),
       "claim ns/claim, device cores: ConsumedCapacity is nil, but Capacity key 'k' is set in "
       "NodeAllocatableResources for resource cpu"},
      {"gone beside one that takes", result("g0") + "," + result("gone"),
       "claim ns/claim, device gone, driver d: device gone not found in pool p for driver d"},
      {"gone alone", result("gone"), "nothing"},
  };
  for (const auto& row : rows) EXPECT_EQ(text(pod(), allocation(row.results)), row.text) << row.what;
  EXPECT_TRUE(is_mapped(cluster, allocation(result("g0"))));
  EXPECT_FALSE(is_mapped(cluster, allocation(result("plain"))));
}

TEST_F(NodeAllocatableTest, ContainersThatNameTheClaimCountOnce) {
  put_slice(R"({"name":"g","nodeAllocatableResources":{"memory":{"overhead":{"perContainer":"1Gi"}}}})");
  const std::string twice = R"({"name":"a","resources":{"claims":[{"name":"dev","request":"x"},
                              {"name":"dev","request":"y"}]}},)";
  EXPECT_EQ(text(pod(twice + R"({"name":"b"},{"name":"c","resources":{"claims":[{"name":"dev"}]}})"),
                 allocation(result("g"))),
            R"([{"resourceClaimName":"claim","containers":["a","c"],)"
            R"("overhead":[{"name":"memory","perContainer":"1Gi"}]}])");
}

TEST_F(NodeAllocatableTest, TheNewestGenerationCounts) {
  put_slice(R"({"name":"g","nodeAllocatableResources":{"cpu":{"overhead":{"perPod":"1"}}}})", 1);
  put_slice(R"({"name":"g","nodeAllocatableResources":{"cpu":{"overhead":{"perPod":"2"}}}})", 2);
  EXPECT_NE(text(pod(), allocation(result("g"))).find(R"("perPod":"2")"), std::string::npos);
  EXPECT_TRUE(cluster.devices_take_of_nodes());
  EXPECT_FALSE(ignoring.devices_take_of_nodes());
}

TEST_F(NodeAllocatableTest, WhoeverShowsThePlaceShowsTheCharge) {
  const api::NodeAllocatableClaims taken = {{"claim", {}, {{"cpu", Quantity::of(2)}}, {}}};
  api::Pod p = pod(R"({"name":"a","resources":{"requests":{"cpu":"1","memory":"1Gi"}}})");
  put(api::Kind::Pod, p);
  cluster.assume({"decision", {"ns", "p"}, "u", "n", {{}, {}, taken, {}}});
  EXPECT_EQ(requested(cluster, kCpu), 3000);

  api::BindRequest request;
  request.meta.ns = "ns";
  request.meta.name = "b";
  request.pod_name = "p";
  request.pod_uid = "u";
  request.node = "n";
  request.decision_id = "decision";
  request.node_allocatable = {{"claim", {}, {{"cpu", Quantity::of(4)}}, {}}};
  put(api::Kind::BindRequest, request);
  EXPECT_TRUE(cluster.assumptions().empty());
  EXPECT_EQ(requested(cluster, kCpu), 5000) << "the request stands, whatever was assumed";
  EXPECT_EQ(requested(ignoring, kCpu), 1000) << "nothing counts without the gate";

  p.node_name = "n";
  p.node_allocatable = {{"claim", {}, {{"cpu", Quantity::of(6)}, {"memory", Quantity::of(5)}}, {}}};
  put(api::Kind::Pod, p);
  EXPECT_EQ(requested(cluster, kCpu), 7000) << "the status of a bound pod is what counts";
  EXPECT_EQ(requested(cluster, kMemory), (std::int64_t{1} << 30) + 5);
  p.node_allocatable.clear();
  put(api::Kind::Pod, p);
  EXPECT_EQ(requested(cluster, kCpu), 1000);
}

TEST_F(NodeAllocatableTest, AbsurdAmountsNeverLookLikeRoom) {
  for (int i = 0; i < 4; ++i) {
    api::Pod p = pod(R"({"name":"a","resources":{"requests":{"cpu":"9223372036854775807",
                       "memory":"9223372036854775807"}}})");
    p.meta.name = "p" + std::to_string(i);
    p.meta.uid = p.meta.name;
    p.node_name = "n";
    p.node_allocatable = {{"claim",
                           {"a"},
                           {{"memory", Quantity::of(INT64_MAX)}},
                           {{"cpu", {Quantity::of(INT64_MAX), Quantity::of(INT64_MAX)}}}}};
    put(api::Kind::Pod, p);
    EXPECT_EQ(requested(cluster, kCpu), kBeyondOffers);
    EXPECT_EQ(requested(cluster, kMemory), kBeyondOffers);
  }
}

TEST_F(NodeAllocatableTest, ADecisionChargesAndItsUndoLeavesNothing) {
  put(api::Kind::Pod, pod(R"({"name":"a","resources":{"requests":{"cpu":"1","memory":"1"}}})"));
  api::Node node;
  node.meta.name = "n";
  node.allocatable["hugepages-2Mi"] = Quantity::of(9);
  put(api::Kind::Node, node);
  const std::string before = cluster.to_text();
  const PodId id = cluster.find_pod("ns", "p");
  const auto taken = std::make_shared<const api::NodeAllocatableClaims>(
      api::NodeAllocatableClaims{{"claim", {}, {{"hugepages-2Mi", Quantity::of(7)}}, {}}});
  const auto reserved = std::make_shared<const Reservation>(Reservation{{}, taken, nullptr, nullptr});
  const ResourceId pages = [&] {
    Ledger::Transaction transaction(cluster.ledger());
    transaction.place(id, cluster.find_node("n"), cluster.charges(id, taken), reserved);
    const ResourceId resource = cluster.resources().find("hugepages-2Mi");
    EXPECT_EQ(requested(cluster, resource), 7);
    return resource;
  }();
  EXPECT_EQ(cluster.to_text(), before);
  Ledger::Transaction transaction(cluster.ledger());
  transaction.place(id, cluster.find_node("n"), cluster.charges(id, taken), reserved);
  cluster.commit(transaction, "decision");
  EXPECT_EQ(requested(cluster, pages), 7);
  EXPECT_EQ(cluster.assumptions().at("u").reservation.node_allocatable, *taken);
}

}  // namespace
}  // namespace berth::model
