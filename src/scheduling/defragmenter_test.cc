// Moves that are carried out: who is evicted, what is kept for the successors and for what waits, and when it
// ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

SchedulerOptions moving(DefragmentationMode mode = DefragmentationMode::Evict, std::int64_t at_once = 8,
                        std::int64_t an_hour = 60) {
  SchedulerOptions options;
  options.defragmentation = {mode, "rack", Duration::seconds(30), at_once, an_hour, 2};
  return options;
}

// Racks r0, r1, … of two nodes with two GPUs each: n0 and n1 are in r0.
class MovingWorld {
 public:
  explicit MovingWorld(int racks = 2, const SchedulerOptions& options = moving()) : bench(options) {
    for (int rack = 0; rack < racks; ++rack) put_rack(rack);
  }
  void put_rack(int rack) {
    for (const int node : {2 * rack, 2 * rack + 1})
      bench.put_node({"n" + std::to_string(node),
                      "64",
                      "64Gi",
                      "110",
                      {{"rack", "r" + std::to_string(rack)}},
                      "{}",
                      R"(,"nvidia.com/gpu":"2")"});
  }
  // `owner`: the UID of its ReplicaSet; empty: nobody's. `node`: empty: it waits.
  void put_pod(const std::string& name, const std::string& node, const std::string& owner,
               const std::string& group = "", int priority = 0) {
    Json pod = Json::object({{"metadata", Json::object({{"name", name},
                                                        {"namespace", "default"},
                                                        {"uid", "uid-" + name},
                                                        {"creationTimestamp", format_time(bench.now)}})}});
    if (!owner.empty())
      pod["metadata"]["ownerReferences"] = Json::array({Json::object({{"apiVersion", "apps/v1"},
                                                                      {"kind", "ReplicaSet"},
                                                                      {"name", owner},
                                                                      {"uid", owner},
                                                                      {"controller", true}})});
    Json container = Json::object({{"name", "c"}});
    for (const char* amounts : {"requests", "limits"})
      container["resources"][amounts]["nvidia.com/gpu"] = "1";
    pod["spec"] = Json::object({{"schedulerName", "berth"}, {"containers", Json::array({container})}});
    if (priority != 0) pod["spec"]["priority"] = priority;
    if (!group.empty()) pod["spec"]["schedulingGroup"] = Json::object({{"podGroupName", group}});
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    pod["status"] = Json::object({{"phase", node.empty() ? "Pending" : "Running"}});
    bench.put_json(api::Kind::Pod, std::move(pod));
  }
  void put_gang(int members, int priority = 0) {
    bench.put_group("g", members, "rack", priority);
    for (int i = 0; i < members; ++i) put_pod("g" + std::to_string(i), "", "", "g", priority);
  }
  void pass(Duration time) {
    for (const Time end = bench.now + time; bench.now < end; bench.now = bench.now + Duration::millis(500))
      run();
    run();
  }
  void bind(const std::string& pod) {
    if (bench.node_of(pod).empty()) return;
    bench.bind(pod);
    for (const api::BindRequest* request : bench.view.bind_requests_of_pod("default", pod))
      bench.erase(api::Kind::BindRequest, std::string(request->meta.name));
  }
  // Pods whose deletion began are gone, and their ReplicaSets make new ones, which are bound.
  std::vector<std::string> succeed() {
    std::vector<std::pair<std::string, std::string>> ended;
    for (const auto& [key, pod] : bench.view.pods.all())
      if (pod->meta.deleting()) ended.emplace_back(key.name, pod->meta.controller()->uid);
    std::vector<std::string> made;
    for (const auto& [name, owner] : ended) {
      bench.erase(api::Kind::Pod, name);
      made.push_back(name + "x");
      put_pod(made.back(), "", owner);
    }
    pass(Duration::seconds(2));
    for (const std::string& pod : made) bind(pod);
    pass(Duration::seconds(2));
    return made;
  }
  std::string node_of(const std::string& pod) const {
    const api::Pod* live = bench.view.pods.find("default", pod);
    return live ? live->node_name : "";
  }
  std::set<std::string> evicted() const { return {bench.evictions.begin(), bench.evictions.end()}; }
  std::size_t holds() const { return bench.scheduler.cluster().ledger().holds().size(); }
  std::size_t whole_racks(int racks) const {
    std::set<std::string> used;
    for (const auto& [key, pod] : bench.view.pods.all())
      if (pod->bound()) used.insert(std::to_string(std::atoi(pod->node_name.c_str() + 1) / 2));
    return static_cast<std::size_t>(racks) - used.size();
  }

  TestBench bench;
  bool refuses = false;  // evictions, by a budget
  std::size_t refused = 0;

 private:
  void run() {
    for (int i = 0; i < 10'000; ++i) {
      const client::Effects effects = bench.decide();
      if (effects.chains.empty() && effects.events.empty()) return;
      if (effects.decision_id == kRelocationWrites && refuses)
        refused += bench.refuse(effects, client::kBudgetRefuses);
      else
        bench.carry_out(effects);
    }
    ADD_FAILURE() << "the scheduler does not come to rest";
  }
};

class Defragmenting : public testing::Test, protected MovingWorld {
 protected:
  // One pod in each rack, and a gang that needs a whole one.
  void scatter(int priority = 0) {
    put_pod("a", "n0", "rs-a", "", priority);
    put_pod("b", "n2", "rs-b", "", priority);
    put_gang(4, priority);
  }
};

TEST_F(Defragmenting, OneMoveMakesARackForTheGangThatWaits) {
  scatter();
  pass(Duration::seconds(29));
  EXPECT_TRUE(bench.evictions.empty());
  pass(Duration::seconds(3));
  EXPECT_EQ(evicted(), std::set<std::string>{"evict a"});
  EXPECT_EQ(bench.event_of("a"),
            "Evicted: 1 move makes r0 whole: gang default/g of 4 fits; room for its successor is kept on n2");
  EXPECT_EQ(holds(), 2U);
  const HeldRooms held = bench.scheduler.held_rooms();
  ASSERT_EQ(held.rooms.size(), 2U);
  EXPECT_EQ(held.rooms[0].purpose, RoomPurpose::Relocation);
  EXPECT_EQ(held.rooms[0].owner.name, "g");
  EXPECT_EQ(held.rooms[1].purpose, RoomPurpose::Successor);
  EXPECT_EQ(held.rooms[1].owner.name, "a");
  succeed();
  EXPECT_EQ(node_of("ax"), "n2");
  for (const char* member : {"g0", "g1", "g2", "g3"}) EXPECT_FALSE(bench.node_of(member).empty()) << member;
  EXPECT_EQ(holds(), 0U);
  pass(Duration::minutes(10));
  EXPECT_EQ(bench.evictions.size(), 1U);
}

TEST_F(Defragmenting, RoomIsKeptFromOthers) {
  scatter();
  pass(Duration::seconds(32));
  put_pod("c", "", "rs-c");
  put_pod("d", "", "rs-d");
  put_pod("e", "", "rs-e");
  pass(Duration::seconds(5));
  // Of the four GPUs of r1 one is used, and one is kept for the successor of a.
  const std::set<std::string> nodes = {bench.node_of("c"), bench.node_of("d"), bench.node_of("e")};
  EXPECT_EQ(nodes, (std::set<std::string>{"", "n3"}));
  succeed();
  EXPECT_EQ(node_of("ax"), "n2");
}

TEST_F(Defragmenting, ABudgetIsAskedAgainAndTheSetIsGivenUp) {
  scatter();
  refuses = true;
  pass(Duration::seconds(60));
  EXPECT_GT(refused, 3U);
  EXPECT_LT(refused, 20U);
  EXPECT_EQ(holds(), 2U);
  // It ends after five minutes and the grace; the next search comes two intervals later, then four.
  pass(Duration::seconds(390));
  EXPECT_EQ(holds(), 2U);
  pass(Duration::minutes(6));
  EXPECT_EQ(holds(), 0U);
  EXPECT_TRUE(bench.evictions.empty());
  refuses = false;
  pass(Duration::minutes(3));
  EXPECT_EQ(evicted(), std::set<std::string>{"evict a"});
}

TEST_F(Defragmenting, ItGivesUpWhenTheNodeWithTheRoomCloses) {
  scatter();
  refuses = true;
  pass(Duration::seconds(35));
  EXPECT_EQ(holds(), 2U);
  for (const char* node : {"n2", "n3"}) {
    Json closed = *parse_json(*bench.view.nodes.find("", node)->raw);
    closed["spec"]["unschedulable"] = true;
    bench.put_json(api::Kind::Node, std::move(closed));
  }
  pass(Duration::seconds(5));
  EXPECT_EQ(holds(), 0U);
  EXPECT_TRUE(bench.evictions.empty());
}

TEST_F(Defragmenting, ItGivesUpWhenTheGangGoes) {
  scatter();
  refuses = true;
  pass(Duration::seconds(35));
  for (int i = 0; i < 4; ++i) bench.erase(api::Kind::Pod, "g" + std::to_string(i));
  refuses = false;
  pass(Duration::seconds(2));
  EXPECT_TRUE(bench.evictions.empty());
  EXPECT_EQ(holds(), 0U);
}

// The reservation for an overtaken entry is not asked for again and again while moves make room.
TEST_F(Defragmenting, AnOvertakenGangThatMovesServeGetsNoOtherRoom) {
  scatter();
  refuses = true;
  pass(Duration::seconds(35));
  put_pod("c", "", "rs-c");
  pass(Duration::seconds(25));
  ASSERT_EQ(bench.node_of("c"), "n3");
  EXPECT_EQ(holds(), 2U);
  const client::Effects idle = bench.decide();
  ASSERT_TRUE(idle.wake_at.has_value());
  EXPECT_GT(*idle.wake_at, bench.now);
}

// Else the room that moves keep for it would be taken from its own preemption.
TEST_F(Defragmenting, ItGivesUpWhenTheGangPreempts) {
  scatter(10);
  refuses = true;
  pass(Duration::seconds(35));
  EXPECT_EQ(holds(), 2U);
  put_rack(2);
  put_pod("low", "n4", "rs-low");
  pass(Duration::seconds(15));
  EXPECT_EQ(evicted(), std::set<std::string>{"evict low"});
  EXPECT_EQ(holds(), 2U) << "of the preemption, and of its victim's successor";
}

// Two members are the minimum: once a second one leaves, the first one stays.
TEST_F(Defragmenting, NoGangFallsBelowItsMinimum) {
  bench.put_group("t", 2);
  put_pod("t0", "n0", "rs-t", "t");
  put_pod("t1", "n2", "rs-t", "t");
  put_pod("t2", "n2", "rs-t", "t");
  refuses = true;
  pass(Duration::seconds(32));
  EXPECT_GT(refused, 0U);
  Json leaving = *parse_json(*bench.view.pods.find("default", "t2")->raw);
  leaving["metadata"]["deletionTimestamp"] = format_time(bench.now);
  bench.put_json(api::Kind::Pod, std::move(leaving));
  refuses = false;
  pass(Duration::minutes(4));
  EXPECT_TRUE(bench.evictions.empty());
}

TEST(DefragmentingModes, ReportsOnceAndEvictsNobody) {
  for (const DefragmentationMode mode : {DefragmentationMode::Report, DefragmentationMode::Never}) {
    MovingWorld world(2, moving(mode));
    world.put_pod("a", "n0", "rs-a");
    world.put_pod("b", "n2", "rs-b");
    world.pass(Duration::minutes(5));
    EXPECT_TRUE(world.bench.evictions.empty());
    EXPECT_EQ(world.holds(), 0U);
    EXPECT_EQ(world.bench.event_of("a"), mode == DefragmentationMode::Never
                                             ? ""
                                             : "A move to n2 is worth it: 1 move makes r0 whole: 4 devices "
                                               "free");
    EXPECT_EQ(world.bench.events.size(), mode == DefragmentationMode::Never ? 0U : 1U);
  }
}

// Of an entry that was overtaken and that the moves would serve.
TEST(DefragmentingModes, AReportLeavesAReservationAsItIs) {
  MovingWorld world(2, moving(DefragmentationMode::Report));
  world.put_pod("a", "n0", "rs-a");
  world.put_pod("b", "n2", "rs-b");
  world.put_gang(4, 10);
  for (const char* member : {"g0", "g1", "g2", "g3"}) {
    Json patient = *parse_json(*world.bench.view.pods.find("default", member)->raw);
    patient["spec"]["preemptionPolicy"] = "Never";
    world.bench.put_json(api::Kind::Pod, std::move(patient));
  }
  world.pass(Duration::seconds(1));
  world.put_pod("c", "", "rs-c");
  world.pass(Duration::seconds(1));
  world.bind("c");
  world.pass(Duration::seconds(23));
  ASSERT_EQ(world.holds(), 1U);
  const auto reserved = world.bench.scheduler.cluster().ledger().holds().begin()->first;
  world.pass(Duration::seconds(10));
  EXPECT_EQ(std::ranges::count(world.bench.events, "MoveProposed", &client::EventNote::reason), 1);
  ASSERT_EQ(world.holds(), 1U);
  EXPECT_EQ(world.bench.scheduler.cluster().ledger().holds().begin()->first, reserved);
}

TEST(DefragmentingModes, TheHourHasItsBudget) {
  MovingWorld world(4, moving(DefragmentationMode::Evict, 8, 1));
  for (int rack = 0; rack < 4; ++rack)
    world.put_pod("p" + std::to_string(rack), "n" + std::to_string(2 * rack), "rs-" + std::to_string(rack));
  world.pass(Duration::seconds(40));
  EXPECT_EQ(world.bench.evictions.size(), 1U);
  world.succeed();
  world.pass(Duration::minutes(50));
  EXPECT_EQ(world.bench.evictions.size(), 1U);
  world.pass(Duration::minutes(15));
  EXPECT_EQ(world.bench.evictions.size(), 2U);
}

// Of random pods in racks: each set of moves raises the number of whole racks, so the moves end.
TEST(DefragmentingModes, EachSetMakesOneRackMoreWhole) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SeededRandom random(seed);
    constexpr int kRacks = 4;
    MovingWorld world(kRacks);
    for (int node = 0; node < 2 * kRacks; ++node)
      for (std::uint64_t gpu = random.below(3); gpu > 0; --gpu) {
        const std::string name = "p" + std::to_string(node) + "-" + std::to_string(gpu);
        world.put_pod(name, "n" + std::to_string(node), random.below(4) == 0 ? "" : "rs-" + name);
      }
    std::size_t whole = world.whole_racks(kRacks), evictions = 0;
    for (int set = 0; set <= kRacks; ++set) {
      world.pass(Duration::seconds(70));
      if (world.bench.evictions.size() == evictions) break;
      ASSERT_LT(set, kRacks) << "seed " << seed << ": the moves do not end";
      evictions = world.bench.evictions.size();
      world.succeed();
      ASSERT_GT(world.whole_racks(kRacks), whole) << "seed " << seed;
      whole = world.whole_racks(kRacks);
    }
    EXPECT_EQ(world.holds(), 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::scheduling
