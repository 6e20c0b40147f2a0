// Claims in decisions: full, failed, idle, and with devices that did not get ready.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

std::string consumer(const std::string& name) {
  return R"({"resource":"pods","name":")" + name + R"(","uid":"uid-)" + name + "\"}";
}

// A claim allocated to d0 of pool-s on node n1; `status`: more members of its status.
void put_allocated(TestBench& bench, const std::string& name, const std::string& status,
                   const std::string& result = "") {
  bench.put(api::Kind::ResourceClaim,
            R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-claim-)" + name +
                R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}},)"
                R"("status":{"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.example.com",)"
                R"("pool":"pool-s","device":"d0")" +
                result +
                R"(}]},"allocationTimestamp":"2027-01-15T08:00:00Z","nodeSelector":{"nodeSelectorTerms":[)"
                R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}})" +
                status + "}}");
}
constexpr const char* kConditions =
    R"(,"bindingConditions":["Attached"],"bindingFailureConditions":["Broken"])";
std::string device_says(const std::string& condition) {
  return R"(,"devices":[{"driver":"gpu.example.com","pool":"pool-s","device":"d0","conditions":[{"type":")" +
         condition + R"(","status":"True"}]}])";
}

void put_two_nodes(TestBench& bench) {
  for (const char* name : {"n1", "n2"}) bench.put_node({name, "2"});
  bench.put_class("gpu", "true");
  bench.put_slice("s", "n1", 1);
  bench.put_slice("t", "n2", 1);
}

bool is_allocated(const TestBench& bench, const std::string& claim) {
  return bench.view.claims.find("default", claim)->allocation.has_value();
}

// The only device is decided for a pod, which goes before its claim is seen allocated.
class DeviceOfAPodThatIsGone : public ::testing::Test {
 protected:
  DeviceOfAPodThatIsGone() {
    bench.put_node({"n1"});
    bench.put_class("gpu", "true");
    bench.put_slice("s", "n1", 1);
    for (const char* name : {"c", "other"}) bench.put_claim(name, "gpu");
    bench.put_pod({"p", "1", "", claim_of("c")});
  }
  bool is_kept() const { return !bench.scheduler.cluster().late_claims().empty(); }

  TestBench bench;
};

TEST_F(DeviceOfAPodThatIsGone, IsKeptAsLongAsTheBinderMayAllocateIt) {
  bench.run();
  ASSERT_EQ(bench.node_of("p"), "n1");
  bench.erase(api::Kind::Pod, "p");
  bench.put_pod({"q", "1", "", claim_of("other")});
  bench.run();
  EXPECT_EQ(bench.node_of("q"), "");
  ASSERT_TRUE(is_kept());
  const client::Effects idle = bench.decide();
  EXPECT_TRUE(idle.wake_at && *idle.wake_at <= bench.now + kLateAllocationMax);
  bench.now = bench.now + kLateAllocationMax;
  bench.run();
  EXPECT_FALSE(is_kept());
  EXPECT_EQ(bench.node_of("q"), "n1");
}

TEST_F(DeviceOfAPodThatIsGone, IsFreeWithTheNextVersionOfTheClaim) {
  bench.run();
  bench.erase(api::Kind::Pod, "p");
  bench.put_pod({"q", "1", "", claim_of("other")});
  bench.run();
  ASSERT_TRUE(is_kept());
  bench.put_claim("c", "gpu");
  bench.now = bench.now + Duration::seconds(1);
  bench.run();
  EXPECT_EQ(bench.node_of("q"), "n1");
}

TEST_F(DeviceOfAPodThatIsGone, IsNotKeptInAStandby) {
  bench.put(
      api::Kind::BindRequest,
      R"({"metadata":{"name":"r","namespace":"default"},"spec":{"podName":"p","podUID":"uid-p",)"
      R"("selectedNode":"n1","decisionID":"d1","resourceClaimAllocations":[{"name":"dev","claimName":"c",)"
      R"("claimUID":")" +
          bench.view.claims.find("default", "c")->meta.uid +
          R"(","allocation":{"devices":{"results":[{"request":"r","driver":"gpu.example.com",)"
          R"("pool":"pool-s","device":"d0"}]}}}]}})");
  const model::Cluster& cluster = bench.scheduler.cluster();
  const auto is_busy = [&] {
    return cluster.ledger().busy(cluster.find_device("gpu.example.com", "pool-s", "d0"));
  };
  ASSERT_TRUE(is_busy());
  bench.erase(api::Kind::Pod, "p");
  EXPECT_FALSE(is_kept());
  EXPECT_FALSE(is_busy());
}

TEST(Claims, AFullClaimRefusesThePodUntilAConsumerLeaves) {
  TestBench bench;
  put_two_nodes(bench);
  std::string consumers;
  for (int i = 0; i < 255; ++i) consumers += consumer("x" + std::to_string(i)) + ",";
  put_allocated(bench, "c", R"(,"reservedFor":[)" + consumers + consumer("last") + "]");
  bench.put_pod({"p", "1", "", claim_of("c")});
  bench.run();
  EXPECT_EQ(bench.reason_of("p"), "Unschedulable");
  EXPECT_TRUE(bench.message_of("p").starts_with(
      "0/2 nodes are available: resource claim default/c has as many consumers as a claim can have, 256. "))
      << bench.message_of("p");
  EXPECT_TRUE(is_allocated(bench, "c"));
  put_allocated(bench, "c", R"(,"reservedFor":[)" + consumers.substr(0, consumers.size() - 1) + "]");
  bench.now = bench.now + Duration::seconds(1);
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
}

// Members that the decision has placed are consumers of the claim, before any object shows it.
TEST(Claims, AGangThatIsLargerThanAClaimHasConsumersIsRefused) {
  for (const int members : {256, 257}) {
    TestBench bench;
    bench.put_node({"n1", "1000", "8Gi", "1000"});
    bench.put_class("gpu", "true");
    bench.put_slice("s", "n1", 1);
    put_allocated(bench, "c", "");
    bench.put_group("g", members);
    for (int i = 0; i < members; ++i) bench.put_pod({"p" + std::to_string(i), "1", "g", claim_of("c")});
    bench.run();
    EXPECT_EQ(bench.node_of("p0"), members == 256 ? "n1" : "") << members;
    EXPECT_EQ(bench.node_of("p200"), members == 256 ? "n1" : "") << members;
  }
}

// Source: DRAOptionalNodeOperations; kube-scheduler asks this of allocated claims too.
TEST(Claims, AnAllocatedDeviceThatSkipsNodeOperationsNeedsANodeThatCan) {
  TestBench bench;
  put_two_nodes(bench);
  put_allocated(bench, "c", "", R"(,"skipNodeOperations":["*"])");
  bench.put_pod({"p", "1", "", claim_of("c")});
  bench.run();
  EXPECT_EQ(bench.message_of("p"),
            "0/2 nodes are available: 2 resourceclaim not available on the node. preemption: 0/2 nodes are "
            "available: 2 Preemption is not helpful for scheduling.");
  bench.put(api::Kind::Node,
            R"({"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"2","memory":"8Gi","pods":"110"},)"
            R"("declaredFeatures":["DRAOptionalNodeOperations"]}})");
  bench.now = bench.now + Duration::seconds(10);
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
}

TEST(Claims, ASucceededRequestOfAPodThatIsGoneIsNoConsumer) {
  TestBench bench;
  put_two_nodes(bench);
  std::string consumers;
  for (int i = 0; i < 254; ++i) consumers += consumer("x" + std::to_string(i)) + ",";
  put_allocated(bench, "c", R"(,"reservedFor":[)" + consumers + consumer("last") + "]");
  bench.put(api::Kind::BindRequest,
            R"({"metadata":{"name":"gone-1","namespace":"default","uid":"b"},"spec":{"podName":"gone",)"
            R"("podUID":"uid-gone","selectedNode":"n1","decisionID":"d","resourceClaimAllocations":[{"name":)"
            R"("dev","claimName":"c","claimUID":"uid-claim-c","allocation":{}}]},)"
            R"("status":{"phase":"Succeeded","decisionID":"d"}})");
  bench.put_pod({"p", "1", "", claim_of("c")});
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1") << bench.message_of("p");
}

TEST(Claims, DecidedConsumersCount) {
  TestBench bench;
  put_two_nodes(bench);
  std::string consumers;
  for (int i = 0; i < 254; ++i) consumers += consumer("x" + std::to_string(i)) + ",";
  put_allocated(bench, "c", R"(,"reservedFor":[)" + consumers + consumer("last") + "]");
  bench.put_pod({"p", "1", "", claim_of("c")});
  bench.put_pod({"q", "1", "", claim_of("c")});
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
  EXPECT_EQ(bench.node_of("q"), "");
}

TEST(Claims, AllUnusableClaimsOfAPodAreDeallocatedAtOnce) {
  TestBench bench;
  put_two_nodes(bench);
  bench.put_slice("u", "n2", 2);
  put_allocated(bench, "a", R"(,"reservedFor":[)" + consumer("p") + "]" + device_says("Broken"), kConditions);
  put_allocated(bench, "b", device_says("Broken"), kConditions);
  bench.put_pod({"p", "1", "",
                 R"(,"resourceClaims":[{"name":"x","resourceClaimName":"a"},)"
                 R"({"name":"y","resourceClaimName":"b"}])"});
  const std::vector<std::string> texts = bench.run();
  ASSERT_FALSE(texts.empty());
  EXPECT_NE(texts[0].find("chain ResourceClaim default/a"), std::string::npos) << texts[0];
  EXPECT_NE(texts[0].find("chain ResourceClaim default/b"), std::string::npos) << texts[0];
  EXPECT_TRUE(bench.message_of("p").starts_with(
      "0/2 nodes are available: 2 resourceclaim not available on the node. preemption: "))
      << bench.message_of("p");
  bench.now = bench.now + Duration::seconds(1);
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n2");
}

struct Counted {
  const char* name;
  std::string status;
  bool gets_n1;  // the pod is placed on the claim's node
  bool kept;     // the allocation remains after the first decision
};

TEST(Claims, AnUnreadyClaimIsUsableUntilItsTimeout) {
  const Counted cases[] = {
      {"ready", device_says("Attached"), true, true},
      {"not ready, in time", "", true, true},
      {"failed", device_says("Broken"), false, false},
      {"failed and reserved by others", device_says("Broken") + R"(,"reservedFor":[)" + consumer("q") + "]",
       false, true},
  };
  for (const Counted& one : cases) {
    SCOPED_TRACE(one.name);
    TestBench bench;
    put_two_nodes(bench);
    put_allocated(bench, "c", one.status, kConditions);
    bench.put_pod({"p", "1", "", claim_of("c")});
    const client::Effects effects = bench.decide();
    bench.carry_out(effects);
    EXPECT_EQ(bench.node_of("p"), one.gets_n1 ? "n1" : "");
    EXPECT_EQ(is_allocated(bench, "c"), one.kept);
  }
  TestBench late;
  put_two_nodes(late);
  put_allocated(late, "c", "", kConditions);
  late.now = late.view.claims.find("default", "c")->allocation->timestamp + Duration::seconds(600);
  late.put_pod({"p", "1", "", claim_of("c")});
  late.carry_out(late.decide());
  EXPECT_FALSE(is_allocated(late, "c"));
}

// A request for all devices was decided while one of two was gone.
class AllDevicesOfANode : public ::testing::Test {
 protected:
  AllDevicesOfANode() {
    bench.put_node({"n1"});
    bench.put_class("gpu", "true");
    bench.put_slice("s", "n1", 1);
    bench.put(api::Kind::ResourceClaim,
              R"({"metadata":{"name":"c","namespace":"default","uid":"uid-claim-c"},"spec":{"devices":{)"
              R"("requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"All"}}]}}})");
    bench.put_pod({"p", "1", "", claim_of("c")});
    bench.run();
  }
  const api::BindRequest& request() const { return *bench.view.bind_requests.all().begin()->second; }
  TestBench bench;
};

TEST_F(AllDevicesOfANode, AreDecidedAgainWhenAnotherOneComes) {
  ASSERT_EQ(request().claims.at(0).allocation.results.size(), 1U);
  bench.put_slice("s", "n1", 2);
  bench.run();
  EXPECT_TRUE(request().withdrawn);
}

TEST_F(AllDevicesOfANode, AreNotDecidedAgainForDevicesOfAnotherNode) {
  bench.put_node({"n2"});
  bench.put_slice("t", "n2", 2);
  bench.put_slice("s", "n1", 1);
  bench.run();
  EXPECT_FALSE(request().withdrawn);
}

TEST_F(AllDevicesOfANode, StayAsTheClaimShowsThem) {
  put_allocated(bench, "c", "");
  bench.put_slice("s", "n1", 2);
  bench.run();
  EXPECT_FALSE(request().withdrawn);
}

TEST(Claims, AnIdleClaimIsDeallocatedOnlyIfThePodThenFits) {
  struct Case {
    const char* name;
    std::string status;
    const char* cpu_of_n2;
    bool kept;
  };
  const Case cases[] = {
      {"n2 would do", "", "2", false},
      {"reserved by the pod alone", R"(,"reservedFor":[)" + consumer("p") + "]", "2", false},
      {"reserved by another", R"(,"reservedFor":[)" + consumer("q") + "]", "2", true},
      {"no node would do", "", "500m", true},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    TestBench bench;
    bench.put_node({"n1", "500m"});
    bench.put_node({"n2", one.cpu_of_n2});
    bench.put_class("gpu", "true");
    bench.put_slice("t", "n2", 1);
    put_allocated(bench, "c", one.status);
    bench.put_pod({"p", "1", "", claim_of("c")});
    bench.run();
    EXPECT_EQ(is_allocated(bench, "c"), one.kept);
    bench.now = bench.now + Duration::seconds(1);
    bench.run();
    EXPECT_EQ(bench.node_of("p"), one.kept ? "" : "n2");
  }
}

TEST(Claims, ADeviceThatDidNotGetReadyIsAvoidedNotItsNode) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_class("gpu", "true");
  bench.put(api::Kind::ResourceSlice,
            R"({"metadata":{"name":"s","uid":"us"},"spec":{"driver":"gpu.example.com","nodeName":"n1",)"
            R"("pool":{"name":"pool-s","generation":1,"resourceSliceCount":1},"devices":[{"name":"d0")" +
                std::string(kConditions) + R"(},{"name":"d1")" + kConditions + "}]}}");
  bench.put_claim("c", "gpu");
  bench.put_pod({"p", "1", "", claim_of("c")});
  const auto device_of_p = [&] {
    const auto requests = bench.view.bind_requests_of_pod("default", "p");
    return requests.empty() ? "" : requests.front()->claims.at(0).allocation.results.at(0).device;
  };
  const auto fail = [&] {
    Json failed = *parse_json(*bench.view.bind_requests.find("default", "p-uid-p")->raw);
    failed["status"] =
        Json::object({{"phase", "Failed"}, {"failedAttempts", 9}, {"reason", "BindingConditionsFailed"}});
    bench.put(api::Kind::BindRequest, to_string(failed));
    bench.run();
  };
  bench.run();
  EXPECT_EQ(device_of_p(), "d0");
  fail();
  EXPECT_EQ(bench.reason_of("p"), "SchedulerError") << "that stands for a second";
  bench.now = bench.now + Duration::seconds(1);
  bench.run();
  EXPECT_EQ(bench.node_of("p") + "/" + device_of_p(), "n1/d1");
  fail();
  EXPECT_EQ(bench.node_of("p"), "") << "both are avoided for a while";
  bench.now = bench.now + Duration::seconds(31);
  bench.run();
  EXPECT_EQ(device_of_p(), "d0") << "and the pod comes again by itself";
}

TEST(Scores, AnEarlierAlternativeIsWorthAFullerNode) {
  TestBench bench;
  bench.put_node({"n1", "8"});
  bench.put_node({"n2", "4"});
  bench.put_class("big", "device.driver == 'big'");
  bench.put_class("small", "device.driver == 'small'");
  bench.put_slice("s", "n1", 2, "small");
  bench.put_slice("t", "n2", 1, "big");
  for (const char* name : {"c1", "c2"})
    bench.put(
        api::Kind::ResourceClaim,
        R"({"metadata":{"name":")" + std::string(name) +
            R"(","namespace":"default"},"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[)"
            R"({"name":"best","deviceClassName":"big"},{"name":"also","deviceClassName":"small"}]}]}}})");
  bench.put_pod({"p", "1", "", claim_of("c1")});
  bench.put_pod({"q", "1", "", claim_of("c2")});
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n2");
  EXPECT_EQ(bench.node_of("q"), "n1");
}

// n1 offers the second alternative, n2 the first one: 100 * 7 / 8 = 87 against 100, twice. The emptier n1
// gets 14 more by NodeResourcesFit (93 and 79), 6 by NodeResourcesBalancedAllocation (71 and 65). A claim
// that has the first alternative already makes it 100 * 15 / 16 = 93 against 100.
TEST(Scores, AlternativesWeighTwiceAndAllocatedClaimsCount) {
  for (const bool has_other : {false, true}) {
    TestBench bench;
    bench.put_node({"n1", "8", "64Gi"});
    bench.put_node({"n2", "2500m", "64Gi"});
    bench.put_class("big", "device.driver == 'big'");
    bench.put_class("small", "device.driver == 'small'");
    bench.put_slice("s", "n1", 1, "small");
    bench.put_slice("t", "n2", 1, "big");
    const std::string spec =
        R"(","namespace":"default","uid":"u"},"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[)"
        R"({"name":"best","deviceClassName":"big"},{"name":"also","deviceClassName":"small"}]}]}})";
    bench.put(api::Kind::ResourceClaim, R"({"metadata":{"name":"c)" + spec + "}");
    bench.put(api::Kind::ResourceClaim,
              R"({"metadata":{"name":"other)" + spec +
                  R"(,"status":{"allocation":{"devices":{"results":[{"request":"r/best","driver":"far",)"
                  R"("pool":"far","device":"d"}]}}}})");
    bench.put_pod({"p", "1", "",
                   R"(,"resourceClaims":[{"name":"a","resourceClaimName":"c"})" +
                       std::string(has_other ? R"(,{"name":"b","resourceClaimName":"other"})" : "") + "]"});
    bench.run();
    EXPECT_EQ(bench.node_of("p"), has_other ? "n1" : "n2");
  }
}

TEST(Scores, ContainersWithoutRequestsCount) {
  TestBench bench;
  for (const char* name : {"n1", "n2", "n3"}) bench.put_node({name});
  for (const char* name : {"a", "b", "c"}) bench.put_pod({name, ""});
  bench.run();
  EXPECT_EQ(bench.node_of("a") + bench.node_of("b") + bench.node_of("c"), "n1n2n3");
  TestBench full;
  full.put_node({"n1", "100m", "200Mi"});
  for (const char* name : {"a", "b"}) full.put_pod({name, ""});
  full.run();
  EXPECT_EQ(full.node_of("b"), "n1") << "but they take nothing";
}

}  // namespace
}  // namespace berth::scheduling
