#include "scheduling/keepers/evictions.h"

#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

constexpr std::string_view kGroupOfClaim =
    R"({"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"g","uid":"uid-g"})";

// The claim "c" is allocated and reserved for a group; plans of preemptors wait for it.
class ClaimsOfGroups : public testing::Test {
 protected:
  ClaimsOfGroups() {
    bench_.put_claim("c", "gpu");
    reserve_for(std::string(kGroupOfClaim));
  }
  void reserve_for(const std::string& consumers) {
    Json claim = *parse_json(*bench_.view.claims.find("default", "c")->raw);
    claim["status"] = *parse_json(
        R"({"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.example.com","pool":"pool-s",)"
        R"("device":"d0"}]}},"reservedFor":[)" +
        consumers + "]}");
    bench_.put_json(api::Kind::ResourceClaim, std::move(claim));
  }
  static EntityKey key_of_preemptor(const std::string& name) {
    return {"default", name, placement::EntityKind::Pod};
  }
  api::ObjectKey key_of_claim() const {
    return client::key_of(api::Kind::ResourceClaim, bench_.view.claims.find("default", "c")->meta);
  }
  void begin(const std::string& preemptor) {
    PreemptionUnderWay plan{"uid-" + preemptor,
                            "berth",
                            10,
                            {},
                            {},
                            {{key_of_claim(), bench_.view.claims.find("default", "c")->meta.uid, true}},
                            model::ScopedHold(cluster_.ledger(), model::Hold()),
                            bench_.now + kPreemptionMax};
    evictions_.begin(key_of_preemptor(preemptor), std::move(plan), bench_.now);
  }
  // How many writes of the claim are due.
  std::size_t due() {
    return evictions_
        .due(bench_.view, bench_.now,
             {[](const api::BindRequest&) {}, [this](const api::ObjectKey&) { return is_used_; }})
        .chains.size();
  }
  void answer(bool ok) { evictions_.write_done({key_of_claim(), ok, 0, {}}, bench_.now); }

  TestBench bench_;
  model::Cluster cluster_;
  Evictions evictions_;
  bool is_used_ = false;
};

TEST_F(ClaimsOfGroups, AreGivenBackOnceNobodyUsesThem) {
  is_used_ = true;
  begin("one");
  EXPECT_EQ(due(), 0u);
  is_used_ = false;
  EXPECT_EQ(due(), 1u);
  EXPECT_EQ(due(), 0u) << "under way";
  answer(true);
  EXPECT_EQ(due(), 0u);
}

TEST_F(ClaimsOfGroups, ARefusedWriteIsRepeated) {
  begin("one");
  EXPECT_EQ(due(), 1u);
  answer(false);
  EXPECT_EQ(due(), 0u);
  bench_.now = bench_.now + kRetriedWriteFirst;
  EXPECT_EQ(due(), 1u);
}

TEST_F(ClaimsOfGroups, APodThatOneIsReservedForIsWaitedFor) {
  reserve_for(std::string(kGroupOfClaim) + R"(,{"resource":"pods","name":"p","uid":"uid-p"})");
  begin("one");
  EXPECT_EQ(due(), 0u);
  reserve_for(std::string(kGroupOfClaim));
  bench_.now = bench_.now + kRetriedWriteFirst;
  EXPECT_EQ(due(), 1u);
}

TEST_F(ClaimsOfGroups, StayAfterThePlan) {
  is_used_ = true;
  begin("one");
  EXPECT_EQ(due(), 0u);
  evictions_.leave(key_of_preemptor("one"));
  is_used_ = false;
  EXPECT_EQ(due(), 0u);
}

// The first plan still waits for other victims, and the group has got the devices again.
TEST_F(ClaimsOfGroups, AreGivenBackForEachPlan) {
  begin("one");
  EXPECT_EQ(due(), 1u);
  answer(true);
  begin("two");
  EXPECT_EQ(due(), 1u);
}

}  // namespace
}  // namespace berth::scheduling
