#include "api/types/node_allocatable.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "api/types/dra.h"
#include "api/types/pod.h"

namespace berth::api {
namespace {

Quantity quantity(std::string_view text) {
  return *parse_quantity(text);
}

TEST(NodeAllocatable, ProductsAreExactAndSaturate) {
  const struct {
    const char *a, *b, *product;
  } rows[] = {
      {"8", "2", "16"},       {"4Gi", "1", "4Gi"},
      {"4Gi", "500m", "2Gi"}, {"1500m", "1500m", "2250m"},
      {"1m", "1m", "1u"},     {"3n", "500m", "2n"},  // rounded away from zero
      {"1n", "1n", "1n"},     {"0", "9223372036854775807", "0"},
      {"-2", "3", "-6"},      {"9223372036854775807", "1", "9223372036854775807"},
      {"1.5", "1e3", "1500"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(product(quantity(row.a), quantity(row.b)).text(), row.product) << row.a << " x " << row.b;
  const Quantity edge = Quantity::of(INT64_MAX);
  EXPECT_EQ(product(edge, edge).ceil_units(), INT64_MAX);
  EXPECT_EQ(product(edge, Quantity::of(-2)).ceil_units(), INT64_MIN);
  const Quantity most = product(edge, edge);
  EXPECT_GT(most + most, most);
  EXPECT_GE(most, product(edge, Quantity::of(3)));
}

NodeAllocatableClaims claims_of(std::string_view text) {
  return decode_node_allocatable_claims(parse_json(std::string(text))->as_array());
}

TEST(NodeAllocatable, AClaimTakesItsMappingOnceAndOverheadPerPodAndContainer) {
  const NodeAllocatableClaims claims = claims_of(R"([
    {"resourceClaimName":"a","containers":["c1","c2"],
     "mapping":[{"name":"cpu","quantity":"2"}],
     "overhead":[{"name":"cpu","perPod":"100m","perContainer":"50m"},{"name":"memory","perPod":"1Gi"}]},
    {"resourceClaimName":"b","overhead":[{"name":"memory","perContainer":"1Gi"},
                                         {"name":"hugepages-2Mi","perPod":"-4Mi"}]}])");
  const ResourceMap all = amounts_of(claims);
  ASSERT_EQ(all.size(), 2u) << "no container names b, and a negative amount is none";
  EXPECT_EQ(all.at("cpu").text(), "2200m");
  EXPECT_EQ(all.at("memory").text(), "1Gi");
  const ResourceMap one = amounts_of(claims, "c2");
  EXPECT_EQ(one.at("cpu").text(), "2150m");
  EXPECT_TRUE(amounts_of(claims, "c3").empty());
  EXPECT_EQ(decode_node_allocatable_claims(to_json(claims).as_array()), claims);
}

TEST(NodeAllocatable, PodLevelRequestsCoverDevices) {
  Pod pod;
  pod.containers.emplace_back();
  pod.containers[0].requests["cpu"] = Quantity::of(1);
  pod.overhead["cpu"] = Quantity::millis(10);
  const NodeAllocatableClaims claims = claims_of(R"([{"resourceClaimName":"a","mapping":[
    {"name":"cpu","quantity":"2"},{"name":"memory","quantity":"1Gi"}]}])");
  EXPECT_EQ(effective_requests(pod, claims).at("cpu").text(), "3010m");
  pod.pod_level_requests = ResourceMap{{"cpu", Quantity::of(4)}};
  EXPECT_EQ(effective_requests(pod, claims).at("cpu").text(), "4010m");
  EXPECT_EQ(effective_requests(pod, claims).at("memory").text(), "1Gi") << "the pod level names no memory";
  EXPECT_EQ(container_requests(pod, claims).at("cpu").text(), "3");
}

TEST(NodeAllocatable, SlicesSayHow) {
  const Json slice = *parse_json(R"({"spec":{"driver":"d","pool":{"name":"p"},"devices":[{"name":"g",
    "nodeAllocatableResources":{
      "cpu":{"mapping":{"capacityKey":"cores","capacityMultiplier":"2"},"overhead":{"perPod":"1"}},
      "memory":{"mapping":{"deviceMultiplier":"8Gi"}},
      "hugepages-2Mi":{"overhead":{"perContainer":"2Mi"}}}},{"name":"plain"}]}})");
  const ResourceSlice decoded = decode_resource_slice(slice, nullptr);
  const NodeAllocatableResources& resources = decoded.devices.at(0).node_allocatable;
  EXPECT_EQ(resources.at("cpu").mapping->capacity_key, "cores");
  EXPECT_EQ(resources.at("cpu").mapping->multiplier, Quantity::of(2));
  EXPECT_EQ(resources.at("cpu").overhead->per_pod, Quantity::of(1));
  EXPECT_EQ(resources.at("memory").mapping->capacity_key, "");
  EXPECT_FALSE(resources.at("memory").overhead);
  EXPECT_FALSE(resources.at("hugepages-2Mi").mapping);
  EXPECT_TRUE(decoded.devices.at(1).node_allocatable.empty());
}

}  // namespace
}  // namespace berth::api
