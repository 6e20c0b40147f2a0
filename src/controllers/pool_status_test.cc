#include "controllers/pool_status.h"

#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using engine::testing::EngineFixture;

const api::ResourceRef& pool_requests() {
  static const api::ResourceRef kRef{"resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests"};
  return kRef;
}

struct PoolStatus : ::testing::Test {
  EngineFixture fixture;

  void slice(const std::string& name, const std::string& spec, int generation = 1, int count = 1) {
    fixture.api.put(Kind::ResourceSlice,
                    R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"x.io","pool":{"name":"p",)" +
                        R"("generation":)" + std::to_string(generation) + R"(,"resourceSliceCount":)" +
                        std::to_string(count) + "}," + spec + "}}");
  }
  void claim(const std::string& name, const std::string& result) {
    fixture.api.put(Kind::ResourceClaim,
                    R"({"metadata":{"namespace":"d","name":")" + name +
                        R"("},"spec":{},"status":{"allocation":{"devices":{"results":[{"request":"r",)" +
                        R"("driver":"x.io","pool":"p",)" + result + "}]}}}}");
  }
  // The answer to a request, without the members that every answer has.
  Json ask(const std::string& spec = "") {
    fixture.engine.add(make_resource_pool_status());
    fixture.api.put(
        pool_requests(),
        *parse_json(R"({"metadata":{"name":"r","uid":"u"},"spec":{"driver":"x.io")" + spec + "}}"));
    fixture.start();
    fixture.run_until_idle();
    return fixture.api.find(pool_requests(), "", "r")->part("status");
  }
  std::string first_pool(const std::string& spec = "") {
    const Json answer = ask(spec);
    return answer.items_at("pools").empty() ? "" : to_string(answer.items_at("pools").front());
  }
};

TEST_F(PoolStatus, CountsDevicesThatAreAllocatedFreeAndTainted) {
  slice("old", R"("nodeName":"n","devices":[{"name":"gone"}])");
  slice("new",
        R"("nodeName":"n","devices":[{"name":"a"},{"name":"b","taints":[{"key":"k","effect":"NoExecute"}]},)"
        R"({"name":"c","taints":[{"key":"k","effect":"None"}]},{"name":"e"},{"name":"f"}])",
        2);
  claim("user", R"("device":"a")");
  claim("observer", R"("device":"c","adminAccess":true)");
  fixture.api.put(Kind::DeviceTaintRule,
                  R"({"metadata":{"name":"t"},"spec":{"deviceSelector":{"device":"e"},)"
                  R"("taint":{"key":"k","effect":"NoSchedule"}}})");
  const Json answer = ask();
  EXPECT_EQ(to_string(answer.items_at("pools").front()),
            R"({"driver":"x.io","poolName":"p","generation":2,"nodeName":"n","resourceSliceCount":1,)"
            R"("totalDevices":5,"allocatedDevices":1,"availableDevices":2,"unavailableDevices":2})");
  EXPECT_EQ(answer.int_at("poolCount"), 1);
  const Json& condition = answer.items_at("conditions").front();
  EXPECT_EQ(condition.string_at("type"), "Complete");
  EXPECT_EQ(condition.string_at("message"), "Calculated status for 1 pools");
}

TEST_F(PoolStatus, AnIncompletePoolHasAnErrorInsteadOfCounts) {
  slice("s", R"("nodeName":"n","devices":[{"name":"a"}])", 3, 2);
  const Json answer = ask();
  EXPECT_EQ(to_string(answer.items_at("pools").front()),
            R"({"driver":"x.io","poolName":"p","generation":3,"nodeName":"n","validationError":)"
            R"("PoolIncomplete: pool x.io/p is incomplete: observed 1/2 slices at generation 3"})");
  EXPECT_EQ(answer.items_at("conditions").front().string_at("message"),
            "Calculated status for 1 pools (1 incomplete)");
}

constexpr const char* kPartitions =
    R"("sharedCounters":[{"name":"gpu","counters":{"memory":{"value":"4Gi"}}}],"devices":[)"
    R"({"name":"whole","attributes":{"profile":{"string":"Full"}},)"
    R"("consumesCounters":[{"counterSet":"gpu","counters":{"memory":{"value":"4Gi"}}}]},)"
    R"({"name":"half-0","attributes":{"profile":{"string":"Half"}},)"
    R"("consumesCounters":[{"counterSet":"gpu","counters":{"memory":{"value":"2Gi"}}}]},)"
    R"({"name":"half-1","attributes":{"profile":{"string":"Half"}},)"
    R"("consumesCounters":[{"counterSet":"gpu","counters":{"memory":{"value":"2Gi"}}}]}])";

std::string partition_summary(int full, int half) {
  return R"([{"attribute":"x.io/profile","type":"Full","total":1,"allocatable":)" + std::to_string(full) +
         R"(},{"attribute":"x.io/profile","type":"Half","total":2,"allocatable":)" + std::to_string(half) +
         "}]";
}

TEST_F(PoolStatus, PartitionsAreCountedByTheirType) {
  slice("s", std::string(R"("partitionTypeAttribute":"x.io/profile",)") + kPartitions);
  EXPECT_EQ(to_string(ask().items_at("pools").front().part("partitionSummary")), partition_summary(1, 2));
}

TEST_F(PoolStatus, AnAllocatedPartitionTakesWhatOthersNeed) {
  slice("s", kPartitions);
  claim("c", R"("device":"half-1")");
  EXPECT_EQ(to_string(ask(R"(,"defaultPartitionTypeAttribute":"x.io/profile")")
                          .items_at("pools")
                          .front()
                          .part("partitionSummary")),
            partition_summary(0, 1));
}

TEST_F(PoolStatus, WithoutAnAttributeThereIsNoPartitionSummary) {
  slice("s", kPartitions);
  const std::string pool = first_pool();
  EXPECT_EQ(pool.find("partitionSummary"), std::string::npos) << pool;
  EXPECT_EQ(pool.find("validationError"), std::string::npos) << pool;
}

TEST_F(PoolStatus, APartitionWithoutItsTypeIsAnError) {
  slice("s", std::string(R"("partitionTypeAttribute":"x.io/other",)") + kPartitions);
  const std::string pool = first_pool();
  EXPECT_NE(pool.find(R"(PartitionTypeMissing: device \"whole\" in pool x.io/p does not carry)"),
            std::string::npos)
      << pool;
  EXPECT_NE(pool.find(R"("totalDevices":3)"), std::string::npos) << pool;
}

TEST_F(PoolStatus, SharedCapacitiesAreSummed) {
  slice("s",
        R"("devices":[{"name":"a","allowMultipleAllocations":true,"capacity":{"memory":{"value":"4Gi"}}},)"
        R"({"name":"b","allowMultipleAllocations":true,"capacity":{"memory":{"value":"4Gi"}}}])");
  claim("c", R"("device":"a","shareID":"s1","consumedCapacity":{"memory":"1Gi"})");
  claim("e", R"("device":"a","shareID":"s2","consumedCapacity":{"memory":"2Gi"})");
  EXPECT_EQ(to_string(ask().items_at("pools").front().part("shareableSummary")),
            R"({"fullyAvailableDevices":1,"partiallyAvailableDevices":1,"capacity":[{"name":"memory",)"
            R"("total":"8Gi","consumed":"3Gi","available":"5Gi"}]})");
}

TEST_F(PoolStatus, AnAnswerIsGivenOnceAndDeletedAfterAnHour) {
  slice("s", R"("devices":[{"name":"a"}])");
  const Json answer = ask();
  slice("s", R"("devices":[{"name":"a"},{"name":"b"}])");
  fixture.advance(Duration::minutes(59));
  ASSERT_NE(fixture.api.find(pool_requests(), "", "r"), nullptr);
  EXPECT_EQ(fixture.api.find(pool_requests(), "", "r")->part("status"), answer);
  fixture.advance(Duration::minutes(1));
  EXPECT_EQ(fixture.api.find(pool_requests(), "", "r"), nullptr);
}

TEST_F(PoolStatus, AnotherDriverAndAnotherPoolAreNotAnswered) {
  slice("s", R"("devices":[{"name":"a"}])");
  const Json answer = ask(R"(,"poolName":"other")");
  EXPECT_EQ(answer.int_at("poolCount", -1), 0);
  EXPECT_TRUE(answer.items_at("pools").empty());
}

}  // namespace
}  // namespace berth::controllers
