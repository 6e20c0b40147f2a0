// The scheduler's audit of its model: damage is found, logged and repaired.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

class Repairs final : public DecisionLog {
 public:
  void append(DecisionRecord) override {}
  void repaired(const RepairRecord& record) override { heard.push_back(record); }
  std::vector<RepairRecord> heard;
};

class Audited : public testing::Test {
 protected:
  Audited() {
    bench_.decisions.pass_on_to(&repairs_);
    bench_.put_class("gpu", "true");
    bench_.put_node({"n1"});
    bench_.put_node({"n2"});
    bench_.put_slice("s", "n1", 2);
    bench_.put_claim("c", "gpu");
    bench_.put_pod({"a", "1", "", R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c"}])"});
    bench_.put_pod({"b"});
    bench_.run();
    right_ = cluster().to_text();
    EXPECT_TRUE(repairs().empty()) << "nothing is wrong yet";
  }

  // The product has no hook for tests, so a const_cast damages the scheduler's rows.
  model::Cluster& cluster() { return const_cast<model::Cluster&>(bench_.scheduler.cluster()); }
  const std::vector<RepairRecord>& repairs() { return repairs_.heard; }
  void audit() {
    bench_.now = bench_.now + kAuditEvery;
    bench_.run();
  }
  void expect_repaired(const std::string& row, const std::string& was, const std::string& is) {
    ASSERT_NE(cluster().to_text(), right_) << "the damage is done";
    audit();
    ASSERT_GE(repairs().size(), 1u);
    EXPECT_EQ(repairs().front().row, row);
    EXPECT_EQ(repairs().front().was, was);
    EXPECT_EQ(repairs().front().is, is);
    EXPECT_EQ(cluster().to_text(), right_);
    EXPECT_EQ(bench_.decisions.repairs(), repairs().size());
    const std::size_t told = repairs().size();
    audit();
    EXPECT_EQ(repairs().size(), told) << "what is right is not repaired again";
  }

  TestBench bench_;
  Repairs repairs_;
  std::string right_;
};

TEST_F(Audited, ADeviceThatNobodyHoldsInTheModel) {
  cluster().ledger().update_claim(cluster().find_claim("default", "c"), nullptr);
  expect_repaired("devices of claim default/c", "no device", "gpu.example.com/pool-s/d0");
}

TEST_F(Audited, ADeviceThatLooksTakenForEver) {
  const model::DeviceId device = cluster().find_device("gpu.example.com", "pool-s", "d1");
  cluster().ledger().update_claim(
      cluster().find_claim("default", "c"),
      std::make_shared<model::ClaimReservation>(model::ClaimReservation{
          cluster().ledger().reservation(cluster().find_claim("default", "c"))->allocation,
          {{device, model::DeviceUseKind::Dedicated, {}}}}));
  expect_repaired("devices of claim default/c", "other devices", "gpu.example.com/pool-s/d0");
}

TEST_F(Audited, APodThatIsChargedElsewhere) {
  const model::PodId pod = cluster().find_pod("default", "b");
  const std::string at = cluster().node(cluster().ledger().node_of(pod)).name;
  const std::string other = at == "n1" ? "n2" : "n1";
  cluster().ledger().update_pod(pod, {cluster().find_node(other), cluster().pod(pod).requests, nullptr, {}});
  expect_repaired("place of pod default/b", other, at);
}

TEST_F(Audited, AGpuGroupThatLooksFullForEver) {
  bench_.put_node({.name = "g1", .allocatable = R"(,"nvidia.com/gpu":"1")"});
  bench_.put(api::Kind::Pod, R"({"metadata":{"name":"half","namespace":"default","uid":"half-uid",
      "annotations":{"gpu-fraction":"0.5"}},"spec":{"schedulerName":"berth","containers":[{"name":"c"}]}})");
  bench_.run();
  const std::string right = cluster().to_text();
  const model::NodeId node = cluster().find_node("g1");
  const_cast<model::NodeUse&>(cluster().ledger().node(node)).gpu_groups.at(0).hundredths = 100;
  ASSERT_NE(cluster().to_text(), right);
  audit();
  ASSERT_EQ(repairs().size(), 1u);
  EXPECT_EQ(repairs().front().row, "use of node g1");
  EXPECT_EQ(cluster().to_text(), right);
}

TEST_F(Audited, ANodeWhoseSumIsWrong) {
  const model::NodeId node = cluster().ledger().node_of(cluster().find_pod("default", "a"));
  const_cast<model::NodeUse&>(cluster().ledger().node(node)).requested.at(model::kCpu) += 500;
  ASSERT_NE(cluster().to_text(), right_);
  audit();
  ASSERT_EQ(repairs().size(), 1u);
  EXPECT_EQ(repairs().front().row, "use of node n1");
  EXPECT_EQ(cluster().to_text(), right_);
}

TEST_F(Audited, AChangeThatTheModelMissed) {
  bench_.view.erase({api::Kind::Pod, "default", "b", {}}, 1'000'000);
  audit();
  ASSERT_FALSE(repairs().empty());
  EXPECT_EQ(repairs().front().is, "absent");
  EXPECT_FALSE(cluster().ledger().node_of(cluster().find_pod("default", "b")).valid());
}

TEST_F(Audited, ARepairWakesTheWaitingPods) {
  bench_.put_claim("d", "gpu", 2);
  bench_.erase(api::Kind::ResourceClaim, "c");
  bench_.erase(api::Kind::Pod, "a");
  const model::DeviceId device = cluster().find_device("gpu.example.com", "pool-s", "d0");
  const_cast<model::DeviceUse&>(cluster().ledger().device(device)).dedicated = 0;
  bench_.run();
  const_cast<model::DeviceUse&>(cluster().ledger().device(device)).dedicated = 1;
  bench_.put_pod({"waits", "1", "", R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"d"}])"});
  for (int i = 0; i < 4; ++i) audit();
  EXPECT_EQ(repairs().front().row, "use of device gpu.example.com/pool-s/d0");
  EXPECT_EQ(bench_.node_of("waits"), "n1") << bench_.message_of("waits");
}

}  // namespace
}  // namespace berth::scheduling
