// Rooms elsewhere that are kept for the successors of victims.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"
#include "scheduling/victim_rooms.h"

namespace berth::scheduling {
namespace {

class VictimRooms : public testing::Test {
 protected:
  // A node each for the preemptor and for the victim's successor. The victim is on n1.
  void SetUp() override {
    for (const char* node : {"n1", "n2"}) bench.put_node({node, "4", "8Gi", "110", {{"disk", node}}});
    put_pod("victim", "3", "rs");
    bench.run();
    ASSERT_EQ(bench.node_of("victim"), "n1");
    bench.bind("victim");
    for (const api::BindRequest* request : bench.view.bind_requests_of_pod("default", "victim"))
      bench.erase(api::Kind::BindRequest, std::string(request->meta.name));
  }
  // `owner`: the UID of its controller; empty: none.
  void put_pod(const std::string& name, const std::string& cpu, const std::string& owner,
               const std::string& more = "") {
    bench.put_pod({name, cpu, "", more});
    if (owner.empty()) return;
    Json pod = *parse_json(*bench.view.pods.find("default", name)->raw);
    pod["metadata"]["ownerReferences"] =
        *parse_json(R"([{"apiVersion":"apps/v1","kind":"ReplicaSet","name":")" + owner + R"(","uid":")" +
                    owner + R"(","controller":true}])");
    bench.put_json(api::Kind::Pod, std::move(pod));
  }
  void preempt() {
    put_pod("high", "3", "", R"(,"priority":10,"nodeSelector":{"disk":"n1"})");
    bench.run();
    ASSERT_EQ(bench.evictions, std::vector<std::string>{"evict victim"});
  }
  // The preemptor is deleted after the evictions were sent, and before the API has answered.
  void preemptor_goes_while_evictions_are_under_way(bool accepted) {
    put_pod("high", "3", "", R"(,"priority":10,"nodeSelector":{"disk":"n1"})");
    client::Effects effects = bench.decide();
    for (; effects.decision_id != kEvictionWrites; effects = bench.decide()) bench.carry_out(effects);
    EXPECT_EQ(holds(), 2U);
    bench.erase(api::Kind::Pod, "high");
    bench.run();
    client::Outcome outcome{effects.decision_id, {}};
    for (const client::Chain& chain : effects.chains) outcome.chains.push_back({chain.key, accepted, 0, {}});
    bench.scheduler.on_outcome(bench.view, outcome, bench.now);
    bench.run();
  }
  std::ptrdiff_t preempted() const {
    return std::ranges::count(bench.events, "Preempted", &client::EventNote::reason);
  }
  std::size_t holds() const { return bench.scheduler.cluster().ledger().holds().size(); }

  TestBench bench;
};

TEST_F(VictimRooms, TheSuccessorHasTheRoomThatTheVictimWouldTake) {
  preempt();
  EXPECT_EQ(holds(), 2U);
  put_pod("rival", "3", "");
  bench.run();
  EXPECT_EQ(bench.node_of("rival"), "");
  bench.erase(api::Kind::Pod, "victim");
  put_pod("next", "3", "rs");
  bench.run();
  EXPECT_EQ(bench.node_of("high"), "n1");
  EXPECT_EQ(bench.node_of("next"), "n2");
  EXPECT_EQ(holds(), 0U);
}

TEST_F(VictimRooms, NobodyComesBackWithoutAController) {
  Json alone = *parse_json(*bench.view.pods.find("default", "victim")->raw);
  alone["metadata"].as_object().erase("ownerReferences");
  bench.put_json(api::Kind::Pod, std::move(alone));
  preempt();
  EXPECT_EQ(holds(), 1U);
  put_pod("rival", "3", "");
  bench.run();
  EXPECT_EQ(bench.node_of("rival"), "n2");
}

TEST_F(VictimRooms, AVictimThatAnotherPlanWaitsForHasItsRoomStill) {
  preempt();
  bench.erase(api::Kind::Pod, "high");
  put_pod("higher", "3", "", R"(,"priority":20,"nodeSelector":{"disk":"n1"})");
  bench.run();
  EXPECT_EQ(bench.evictions, std::vector<std::string>{"evict victim"}) << "it ends already";
  bench.erase(api::Kind::Pod, "victim");
  bench.run();
  EXPECT_EQ(bench.node_of("higher"), "n1");
  EXPECT_EQ(holds(), 1U) << "of the successor";
  put_pod("rival", "3", "");
  put_pod("next", "3", "rs");
  bench.run();
  EXPECT_EQ(bench.node_of("rival"), "");
  EXPECT_EQ(bench.node_of("next"), "n2");
}

TEST_F(VictimRooms, AreKeptForSoManyVictimsOfAPlan) {
  bench.erase(api::Kind::Pod, "victim");
  const std::string cpu = std::to_string(kVictimsPlacedMax + 1);
  for (const char* node : {"n1", "n2"}) bench.put_node({node, cpu, "8Gi", "1000", {{"disk", node}}});
  for (std::size_t i = 0; i <= kVictimsPlacedMax; ++i)
    put_pod("v" + std::to_string(i), "1", "rs", R"(,"nodeName":"n1")");
  put_pod("high", cpu, "", R"(,"priority":10,"nodeSelector":{"disk":"n1"})");
  bench.run();
  EXPECT_EQ(bench.evictions.size(), kVictimsPlacedMax + 1);
  EXPECT_EQ(holds(), 1 + kVictimsPlacedMax);
}

TEST_F(VictimRooms, AreListedAfterThePreemptorsRoom) {
  preempt();
  const HeldRooms held = bench.scheduler.held_rooms();
  ASSERT_EQ(held.total, 2U);
  ASSERT_EQ(held.rooms.size(), 2U);
  const HeldRoom &of_preemptor = held.rooms[0], &of_successor = held.rooms[1];
  EXPECT_EQ(of_preemptor.purpose, RoomPurpose::Preemption);
  EXPECT_EQ(of_preemptor.owner.name, "high");
  EXPECT_EQ(of_preemptor.nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(of_successor.purpose, RoomPurpose::Successor);
  EXPECT_EQ(of_successor.owner.name, "victim");
  EXPECT_EQ(of_successor.nodes, std::vector<std::string>{"n2"});
  EXPECT_EQ(of_successor.until, of_preemptor.until);
}

TEST_F(VictimRooms, AVictimThatIsSparedKeepsNoRoom) {
  preemptor_goes_while_evictions_are_under_way(false);
  EXPECT_EQ(holds(), 0U);
  EXPECT_EQ(preempted(), 0);
}

TEST_F(VictimRooms, AVictimWhoseEvictionIsAcceptedAfterItsPlanHasEndedKeepsItsRoom) {
  preemptor_goes_while_evictions_are_under_way(true);
  EXPECT_EQ(holds(), 1U) << "of the successor";
  EXPECT_EQ(preempted(), 1);
  bench.erase(api::Kind::Pod, "victim");
  put_pod("rival", "3", "", R"(,"nodeSelector":{"disk":"n2"})");
  put_pod("next", "3", "rs");
  bench.run();
  EXPECT_EQ(bench.node_of("rival"), "");
  EXPECT_EQ(bench.node_of("next"), "n2");
}

}  // namespace
}  // namespace berth::scheduling
