// A group with a wish: rows worked out by hand.
#include "placement/wishes/wish_search.h"

#include <gtest/gtest.h>

#include "placement/refusal/berth_words.h"
#include "placement/wishes/test_wishes.h"

namespace berth::placement {
namespace {

// A rack of so many nodes with one cpu.
void add_rack(WishWorld& world, const std::string& block, const std::string& rack, int nodes, int cpu = 1) {
  for (int i = 0; i < nodes; ++i) world.nodes.push_back({block, rack, cpu});
}

WishWorld with_racks(const std::vector<std::pair<std::string, int>>& racks, int pods, GroupWish wish) {
  WishWorld world;
  for (const auto& [path, nodes] : racks)
    add_rack(world, path.substr(0, path.find('/')), path.substr(path.find('/') + 1), nodes);
  world.pods.assign(static_cast<std::size_t>(pods), 1);
  world.wish = std::move(wish);
  return world;
}

GroupWish balanced(GroupWish wish) {
  wish.distribution = WishDistribution::Balanced;
  return wish;
}
GroupWish segments(GroupWish wish, std::int64_t min, std::int64_t max, std::size_t level = kRackLevel) {
  wish.segments = WishSegments{level, min, max};
  return wish;
}

struct WishRow {
  const char* what;
  std::vector<std::pair<std::string, int>> racks;  // nodes that take one pod
  int pods;
  GroupWish wish;
  const char* reached_and_domains;
  int minimum = 0;
  double score = 1;
};

void expect_rows(const std::vector<WishRow>& rows) {
  for (const WishRow& row : rows) {
    WishWorld world = with_racks(row.racks, row.pods, row.wish);
    world.minimum = row.minimum;
    WishBench bench(world);
    const GroupOutcome outcome = bench.decide();
    ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Placed) << row.what;
    EXPECT_EQ(WishBench::wish_of(outcome), row.reached_and_domains)
        << row.what << " " << bench.nodes_of(outcome);
    EXPECT_EQ(outcome.wish->score, row.score) << row.what;
  }
}

TEST(WishSearch, TakesTheFirstWishThatComesTrueElseTheFewestDomains) {
  const GroupWish rack = wish_for({kRackLevel}), rack_block = wish_for({kRackLevel, kBlockLevel});
  const std::vector<WishRow> rows = {
      {"one rack takes all: the tightest",
       {{"b0/r0", 6}, {"b0/r1", 4}, {"b1/r2", 5}},
       4,
       rack,
       "rack: b0/r1 4"},
      {"no rack: the fewest racks, least waste",
       {{"b0/r0", 9}, {"b0/r1", 5}, {"b1/r2", 5}},
       10,
       rack,
       ": b0/r1 5, b1/r2 5",
       0,
       0},
      {"no rack, but a block",
       {{"b0/r0", 6}, {"b1/r1", 4}, {"b1/r2", 4}, {"b2/r3", 4}},
       8,
       rack_block,
       "block: b1/r1 4, b1/r2 4",
       0,
       0.5},
      {"neither: racks of one block first",
       {{"b0/r0", 4}, {"b1/r1", 4}, {"b1/r2", 4}, {"b2/r3", 1}},
       12,
       rack_block,
       ": b0/r0 4, b1/r1 4, b1/r2 4",
       0,
       0},
      {"required block, rack impossible",
       {{"b0/r0", 3}, {"b0/r1", 3}, {"b1/r2", 5}},
       6,
       wish_for({kRackLevel}, kBlockLevel),
       "block: b0/r0 3, b0/r1 3",
       0,
       0},
      {"a wish wider than what is required holds by itself",
       {{"b0/r0", 3}, {"b0/r1", 4}},
       4,
       wish_for({kBlockLevel}, kRackLevel),
       "rack: b0 4"},
      {"balanced: 8 over racks of 5 to 7",
       {{"b0/r0", 7}, {"b0/r1", 5}, {"b1/r2", 7}},
       10,
       balanced(rack),
       ": b0/r0 5, b0/r1 5",
       0,
       0},
      {"as many as fit, in as few racks", {{"b0/r0", 3}, {"b0/r1", 2}}, 8, rack, ": b0/r0 3, b0/r1 2", 2, 0},
      {"no level at all", {{"b0/r0", 3}}, 2, wish_for({}), ":"},
  };
  expect_rows(rows);
}

TEST(WishSearch, CutsTheMembersIntoSegments) {
  const std::vector<WishRow> rows = {
      {"segments of 4",
       {{"b0/r0", 5}, {"b0/r1", 4}, {"b1/r2", 3}},
       8,
       segments(wish_for({}), 4, 4),
       ": b0/r0 4, b0/r1 4"},
      {"segments in one block",
       {{"b0/r0", 5}, {"b1/r1", 4}, {"b1/r2", 4}},
       8,
       segments(wish_for({}, kBlockLevel), 4, 4),
       "block: b1/r1 4, b1/r2 4"},
      {"as many segments as fit",
       {{"b0/r0", 5}, {"b0/r1", 4}},
       11,
       segments(wish_for({}), 4, 4),
       ": b0/r0 4, b0/r1 4",
       4},
      {"one rack would be too large a segment",
       {{"b0/r0", 8}, {"b0/r1", 4}},
       8,
       segments(wish_for({kRackLevel}), 2, 4),
       ": b0/r0 4, b0/r1 4",
       0,
       0},
  };
  expect_rows(rows);
}

TEST(WishSearch, FillsRacksInTheOrderOfRanks) {
  WishWorld world = with_racks({{"b0/r0", 4}, {"b0/r1", 4}, {"b0/r2", 4}}, 10, wish_for({kRackLevel}));
  world.wish.contiguous_ranks = true;
  for (const int rank : {7, 3, 9, 0, 5, 1, 8, 2, 6, 4}) world.names.push_back("w-" + std::to_string(rank));
  WishBench bench(world);
  const GroupOutcome outcome = bench.decide();
  ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Placed);
  EXPECT_EQ(outcome.wish->rank_crossings, 3);
  for (std::size_t i = 0; i < world.names.size(); ++i) {
    const int rank = world.names[i].back() - '0';
    const std::string& node = bench.cluster().node(outcome.members[i].node).name;
    EXPECT_EQ((node.back() - '0' + (node.size() > 2 ? 10 : 0)) / 4, rank / 4)
        << world.names[i] << " on " << node;
  }
}

// 15 workers and their leader, which asks for as much, on four racks of four.
TEST(WishSearch, CutsAGroupWhateverItsRoles) {
  WishWorld world =
      with_racks({{"b0/r0", 4}, {"b0/r1", 4}, {"b0/r2", 4}, {"b0/r3", 4}}, 16, segments(wish_for({}), 4, 4));
  for (int i = 0; i < 16; ++i) world.names.push_back(i == 0 ? "leader" : "w-" + std::to_string(i));
  WishBench bench(world);
  EXPECT_EQ(WishBench::wish_of(bench.decide()), ": b0/r0 4, b0/r1 4, b0/r2 4, b0/r3 4");
}

TEST(WishSearch, MembersWithAPlaceCountAndPin) {
  WishWorld world =
      with_racks({{"b0/r0", 4}, {"b0/r1", 3}, {"b1/r2", 8}}, 3, wish_for({kRackLevel, kBlockLevel}));
  for (std::size_t i = 0; i < 4; ++i) world.nodes[i].cpu = i < 2 ? 1 : 2;
  world.placed = {0, 1};
  EXPECT_EQ(WishBench::wish_of(WishBench(world).decide()), "rack: b0/r0 5");
  world.pods.assign(5, 1);
  EXPECT_EQ(WishBench::wish_of(WishBench(world).decide()), "block: b0/r0 6, b0/r1 1");
  world.wish = segments(wish_for({}), 2, 3);
  EXPECT_EQ(WishBench::wish_of(WishBench(world).decide()), ": b0/r0 3, b0/r1 2, b1/r2 2");
}

// Rack r0 has room for the other three.
TEST(WishSearch, MembersThatAreLeftOutKnowWhy) {
  WishWorld world = with_racks({{"b0/r0", 3}, {"b0/r1", 4}}, 7, wish_for({}, kRackLevel));
  world.minimum = 4;
  const GroupOutcome outcome = WishBench(world).decide();
  EXPECT_EQ(WishBench::wish_of(outcome), "rack: b0/r1 4");
  std::size_t told = 0;
  for (const MemberOutcome& member : outcome.members) told += member.refusal ? 1 : 0;
  EXPECT_EQ(told, 3U);
}

std::string refusal_of(const WishWorld& world) {
  const GroupOutcome outcome = WishBench(world).decide();
  return outcome.refusal && outcome.kind == GroupOutcome::Kind::Unschedulable
             ? explanation_of(*outcome.refusal)
             : "placed";
}

TEST(WishSearch, SaysWhichNumbersDoNotFit) {
  EXPECT_EQ(refusal_of(with_racks({{"b0/r0", 4}, {"b0/r1", 5}}, 9, segments(wish_for({}), 4, 4))),
            "pod group ns/g waits: the cluster does not take the 9 more pods it needs. Its policy asks for "
            "segments of 4 pods for each rack: 9 pods cannot be cut so; 8 can.");
  EXPECT_EQ(refusal_of(with_racks({{"b0/r0", 4}, {"b0/r1", 3}}, 8, segments(wish_for({}), 4, 8))),
            "pod group ns/g waits: the cluster does not take the 8 more pods it needs. Its policy asks for "
            "segments of 4 to 8 pods for each rack: there is room for 4 of the 8 pods in such segments.");
}

WishWorld with_rails(const std::vector<std::vector<int>>& nodes, int pods, int devices) {
  WishWorld world;
  for (const std::vector<int>& rails : nodes) world.nodes.push_back({"b0", "r0", 9, rails});
  world.pods.assign(static_cast<std::size_t>(pods), 1);
  world.devices = devices;
  world.wish = wish_for({kRackLevel});
  world.wish.same_devices = WishSameDevices{"c", "gpu.example.com/rail"};
  return world;
}

std::string values_of(const WishWorld& world) {
  const GroupOutcome outcome = WishBench(world).decide();
  if (!outcome.wish) return "none";
  std::string text;
  for (const std::string& value : outcome.wish->same_values) text += value + " ";
  return text;
}

TEST(WishSearch, GivesAllMembersTheSameRails) {
  EXPECT_EQ(values_of(with_rails({{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}, 2, 4)), "0 1 2 3 ");
  EXPECT_EQ(values_of(with_rails({{0, 2, 4, 5, 6}, {1, 2, 3, 5, 6, 7, 0}}, 2, 4)), "0 2 5 6 ");
  EXPECT_EQ(values_of(with_rails({{0, 1, 2}, {2, 3, 4}}, 2, 2)), "none");
  EXPECT_EQ(values_of(with_rails({{0, 0, 1}, {1, 1, 2}}, 2, 2)), "none");
  WishWorld one_rail = with_rails({{0, 0, 1, 1}, {1, 1, 2, 2}}, 2, 2);
  one_rail.one_rail = true;
  EXPECT_EQ(values_of(one_rail), "1 ");
  EXPECT_EQ(
      refusal_of(with_rails({{0, 1}, {2, 3}}, 2, 2)),
      "pod group ns/g waits: the cluster does not take the 2 more pods it needs. Its policy asks for the "
      "same values of gpu.example.com/rail in every pod: no set of them is free on enough nodes.");
}

// Sets of 7 among 14 rails of a node are more than are counted, and the only one of both nodes is the last.
TEST(WishSearch, OfMoreSetsThanAreCountedNothingIsProved) {
  std::vector<int> first, second;
  for (int rail = 0; rail < 14; ++rail) {
    first.push_back(rail);
    second.push_back(rail + 7);
  }
  const GroupOutcome outcome = WishBench(with_rails({first, second}, 2, 7)).decide();
  ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Unschedulable);
  EXPECT_FALSE(outcome.refusal->group->proof);
  EXPECT_NE(outcome.refusal->group->unproved, "");
}

// A node of a member was relabelled since.
TEST(WishSearch, LaterMembersGoToTheRecordedDomain) {
  WishWorld world = with_racks({{"b0/r0", 3}, {"b0/r1", 2}, {"b1/r2", 4}}, 2, wish_for({}, kRackLevel));
  world.nodes[5].cpu = 3;
  world.placed = {5};
  EXPECT_EQ(WishBench::wish_of(WishBench(world).decide()), "rack: b1/r2 3");
  world.recorded = "block=b0,rack=r0";
  WishBench rack(world);
  EXPECT_EQ(rack.nodes_of(rack.decide()), "n0: 1, n1: 1");
  world.wish = wish_for({kRackLevel}, kBlockLevel);
  world.recorded = "block=b0";
  WishBench block(world);
  EXPECT_EQ(block.nodes_of(block.decide()), "n3: 1, n4: 1");
}

TEST(WishSearch, CountsDevicesOfDomains) {
  WishWorld world = with_rails({{0, 1}, {0, 1}}, 3, 1);
  world.wish = wish_for({}, kHostLevel);
  for (std::size_t i = 0; i < 2; ++i) world.nodes[i].block = "b" + std::to_string(i);
  const std::string words =
      "pod group ns/g waits: none of 2 domains of host takes the 3 more pods it needs; cpu, memory and pod "
      "slots would suffice. Every domain of host is at least 1 device short.";
  EXPECT_TRUE(refusal_of(world).starts_with(words)) << refusal_of(world);
  world.wish = wish_for({kHostLevel});
  EXPECT_EQ(WishBench::wish_of(WishBench(world).decide()), ": b0/r0/n0 2, b1/r0/n1 1");
}

TEST(WishSearch, CountsDevicesByTheirDriver) {
  WishWorld world = with_rails({{0, 1}, {0, 1}}, 3, 2);
  for (WishNode& node : world.nodes) node.nics = 6;
  world.wish = wish_for({}, kRackLevel);
  EXPECT_NE(refusal_of(world).find("rack is 2 devices short"), std::string::npos) << refusal_of(world);
}

// The group's own key is no level of the policy's topology: both hold.
TEST(WishSearch, OwnKeyAndPolicyHoldBoth) {
  WishWorld world = with_racks({{"b0/r0", 3}, {"b0/r1", 4}, {"b1/r0", 4}}, 4, wish_for({}, kBlockLevel));
  world.key = "rack";
  EXPECT_EQ(WishBench::wish_of(WishBench(world).decide()), "block: b0 4");
  world.wish.levels = {{"block", "block"}};
  const GroupOutcome outcome = WishBench(world).decide();
  EXPECT_EQ(outcome.placement, "r0/b1");
}

}  // namespace
}  // namespace berth::placement
