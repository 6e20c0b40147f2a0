#include "placement/trees/tree_cycle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/random.h"
#include "placement/trees/test_trees.h"
#include "placement/trees/tree_descent.h"

namespace berth::placement {
namespace {

// Racks of one node each: block 0 has the first list.
std::vector<TreeWorld::Node> racks(const std::vector<std::vector<int>>& blocks) {
  std::vector<TreeWorld::Node> nodes;
  for (std::size_t block = 0; block < blocks.size(); ++block)
    for (const int cpu : blocks[block])
      nodes.push_back({static_cast<int>(block), static_cast<int>(nodes.size()), cpu});
  return nodes;
}

TreeSpec gang(const std::string& key, int minimum, int pods) {
  return {key, minimum, std::vector<int>(static_cast<std::size_t>(pods), 1), {}};
}

struct TreeCase {
  std::string name;
  TreeWorld world;
  std::string nodes;  // empty: refused
};

void PrintTo(const TreeCase& one, std::ostream* out) {
  *out << one.world.text();
}

class Trees : public ::testing::TestWithParam<TreeCase> {};

TEST_P(Trees, ArePlaced) {
  TreeBench bench(GetParam().world);
  const TreeOutcome outcome = bench.decide();
  EXPECT_EQ(bench.complaint_about(outcome), "");
  EXPECT_EQ(bench.nodes_of(outcome), GetParam().nodes);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Trees,
    ::testing::Values(
        TreeCase{"G1LargeFirst",
                 {racks({{3, 5}}), {"block", 2, {}, {gang("rack", 5, 5), gang("rack", 3, 3)}}},
                 "g.0: n1 n1 n1 n1 n1; g.1: n0 n0 n0"},
        TreeCase{"G1SmallFirst",
                 {racks({{3, 5}}), {"block", 2, {}, {gang("rack", 3, 3), gang("rack", 5, 5)}}},
                 "g.0: n0 n0 n0; g.1: n1 n1 n1 n1 n1"},
        TreeCase{"TheOtherBlock",
                 {racks({{3, 5}, {5, 5}}), {"block", 2, {}, {gang("rack", 5, 5), gang("rack", 5, 5)}}},
                 "g.0: n2 n2 n2 n2 n2; g.1: n3 n3 n3 n3 n3"},
        TreeCase{"G2NoStealing",
                 {racks({{8}}), {"rack", 2, {}, {gang("", 2, 8), gang("", 6, 6)}}},
                 "g.0: n0 n0 - - - - - -; g.1: n0 n0 n0 n0 n0 n0"},
        TreeCase{"G9OneBlockForBoth",
                 {racks({std::vector<int>(18, 1), std::vector<int>(10, 1)}),
                  {"block", 2, {}, {gang("", 8, 8), gang("", 10, 10)}}},
                 "g.0: n2 n3 n4 n5 n6 n7 n8 n9; g.1: n0 n1 n10 n11 n12 n13 n14 n15 n16 n17"},
        TreeCase{"G15AsManyAsFit",
                 {racks({{6}}), {"block", 2, {}, {gang("", 1, 4), gang("", 1, 4)}}},
                 "g.0: n0 n0 n0 n0; g.1: n0 n0 - -"},
        TreeCase{
            "TheOldestChildrenOfMore",
            {racks({{4, 4}}), {"block", 2, {}, {gang("rack", 4, 4), gang("rack", 3, 3), gang("rack", 2, 2)}}},
            "g.0: n0 n0 n0 n0; g.1: n1 n1 n1"},
        TreeCase{
            "OthersWhereTheOldestDoNotFit",
            {racks({{4, 4}}), {"block", 2, {}, {gang("rack", 5, 5), gang("rack", 4, 4), gang("rack", 4, 4)}}},
            "g.1: n0 n0 n0 n0; g.2: n1 n1 n1 n1"},
        TreeCase{
            "TooSmall", {racks({{3, 4}}), {"block", 2, {}, {gang("rack", 4, 4), gang("rack", 4, 4)}}}, ""},
        TreeCase{"ThreeLevels",
                 {racks({{2, 2, 1}, {2, 2, 2, 2}}),
                  {"",
                   2,
                   {},
                   {{"block", 2, {}, {gang("rack", 2, 2), gang("rack", 2, 2)}},
                    {"block", 2, {}, {gang("rack", 2, 2), gang("rack", 2, 2)}}}}},
                 "g.0.0: n0 n0; g.0.1: n1 n1; g.1.0: n3 n3; g.1.1: n4 n4"},
        TreeCase{"MixedSizes",
                 {racks({{4, 4}}), {"block", 2, {}, {{"rack", 2, {3, 1}, {}}, {"rack", 2, {2, 2}, {}}}}},
                 "g.0: n0 n0; g.1: n1 n1"},
        TreeCase{"PackedReplicas",
                 {racks({{4, 6}}), {"block", 4, {}, std::vector<TreeSpec>(4, gang("rack", 2, 2))}},
                 "g.0: n0 n0; g.1: n0 n0; g.2: n1 n1; g.3: n1 n1"},
        TreeCase{"SpreadReplicas",
                 {racks({{4, 6}}), {"block", 4, {}, std::vector<TreeSpec>(4, gang("rack", 2, 2))}, {}, true},
                 "g.0: n0 n0; g.1: n1 n1; g.2: n0 n0; g.3: n1 n1"},
        TreeCase{"SpreadReplicasAboveTheMinimum",
                 {racks({{4, 6}}), {"block", 1, {}, std::vector<TreeSpec>(3, gang("rack", 2, 2))}, {}, true},
                 "g.0: n0 n0; g.1: n1 n1; g.2: n0 n0"},
        TreeCase{"SpreadOnlyWhereAllFit",
                 {racks({{5, 3}}), {"block", 2, {}, {gang("rack", 3, 3), gang("rack", 5, 5)}}, {}, true},
                 "g.0: n1 n1 n1; g.1: n0 n0 n0 n0 n0"}),
    [](const auto& info) { return info.param.name; });

TEST(TreesAtTheirBounds, OfTooManyGroupsNothingIsProved) {
  TreeWorld world{racks({{1}}), {"", 2, {}, {}}};
  for (std::size_t i = 0; i < kTreeUnitsMax; ++i) world.tree.children.push_back(gang("", 1, 1));
  world.tree.minimum = static_cast<int>(kTreeUnitsMax);
  TreeBench bench(world);
  const TreeOutcome outcome = bench.decide();
  ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Unschedulable);
  EXPECT_EQ(outcome.refusal->group->unproved, kSearchBudgetEnded);
}

TEST(TreesAtTheirBounds, ManyGroupsAreProvedNotToFitByCounts) {
  TreeWorld world{racks({std::vector<int>(99, 10)}), {"block", 100, {}, {}}};
  world.nodes.push_back({0, 99, 9});
  for (int i = 0; i < 100; ++i) world.tree.children.push_back(gang("rack", 10, 10));
  TreeBench bench(world);
  const TreeOutcome outcome = bench.decide();
  ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Unschedulable);
  EXPECT_EQ(outcome.refusal->group->unproved, "");
}

// Groups of two, three and four pods with one device each, of which no two groups ask for as much cpu: they
// fill racks of nine devices, or one device is missing.
TreeWorld groups_of_devices(int trios, int missing) {
  TreeWorld world{{}, {"block", 3 * trios, {}, {}}};
  for (int i = 0; i < trios; ++i) world.nodes.push_back({0, i, 900, {9 - (i == 0 ? missing : 0), 0}});
  for (const int size : {2, 3, 4})
    for (int i = 0; i < trios; ++i) {
      TreeSpec& group = world.tree.children.emplace_back(gang("rack", size, size));
      group.pods.assign(static_cast<std::size_t>(size), static_cast<int>(world.tree.children.size()));
      group.devices = 1;
    }
  return world;
}

TEST(TreesAtTheirBounds, GroupsThatFillRacksWithTheirDevicesArePlaced) {
  TreeBench bench(groups_of_devices(5, 0));
  const TreeOutcome outcome = bench.decide();
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::Placed);
  EXPECT_EQ(bench.complaint_about(outcome), "");
}

TEST(TreesAtTheirBounds, OneDeviceTooFewIsProvedByCounts) {
  TreeBench bench(groups_of_devices(5, 1));
  const TreeOutcome outcome = bench.decide();
  ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Unschedulable);
  EXPECT_EQ(outcome.refusal->group->unproved, "");
}

// Each asks for two devices of one model, and no rack has that: counts do not see it, and 40,320 ways to
// choose the racks of all groups are more than are tried.
TEST(TreesAtTheirBounds, GroupsThatNoRackTakesAreProvedByThemselves) {
  constexpr int kGroups = 8;
  TreeWorld world{{}, {"block", kGroups, {}, {}}};
  for (int i = 0; i < kGroups; ++i) {
    world.nodes.push_back({0, i, 9, {1, 1}});
    TreeSpec& group = world.tree.children.emplace_back(gang("rack", 1, 1));
    group.devices = 2;
    group.claims = TreeSpec::Claims::OwnOfOneModel;
  }
  TreeBench bench(world);
  const TreeOutcome outcome = bench.decide();
  ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Unschedulable);
  EXPECT_EQ(outcome.refusal->group->unproved, "");
}

// Leaves the range of scores.
class TooHigh final : public PlacementScorer {
 public:
  std::string_view name() const override { return "TooHigh"; }
  bool known_before_placing() const override { return true; }
  void score(const ScoringQuestion&, std::span<std::int64_t> scores) const override {
    std::ranges::fill(scores, kPlacementScoreMax + 1);
  }
};

TEST(TreesAtTheirBounds, AScoreOutOfRangeIsAnError) {
  DecisionOptions options;
  options.plugins = [](const PluginArguments& arguments) {
    PluginSet set = default_plugins(arguments);
    set.placement_scorers.push_back({std::make_unique<TooHigh>(), 1});
    return set;
  };
  TreeBench bench({racks({{2}, {2}}), {"block", 1, {}, {gang("", 1, 1)}}}, options);
  const TreeOutcome outcome = bench.decide();
  ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Error);
  EXPECT_EQ(
      outcome.refusal->group->error,
      "plugin \"TooHigh\" returns an invalid placement score 101, it should be in the range of [0, 100]");
}

TEST(BudgetShare, TheWholePaysForWhatTheShareSpent) {
  Budget whole(100);
  for (const std::size_t shares : {4u, 3u, 2u}) {
    BudgetShare share(whole, shares);
    EXPECT_EQ(share.budget().left(), 25u);
    share.budget().spend(25);
  }
  EXPECT_EQ(whole.left(), 25u);
  {
    BudgetShare share(whole, 1);
    share.budget().spend(5);
  }
  EXPECT_EQ(whole.left(), 20u);
  EXPECT_FALSE(whole.ended());
}

// Feasible sets as in a published table of what sequential placement misses: a parent in one block, each
// child in one rack, the children's sum as large a share of the best block as asked.
TreeWorld sibling_world(std::uint64_t seed, int blocks, int racks_each, int slots_max, int children) {
  SeededRandom random(seed);
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
  };
  const auto sum_of = [](const std::vector<int>& block) {
    return std::accumulate(block.begin(), block.end(), 0);
  };
  std::vector<std::vector<int>> free(static_cast<std::size_t>(blocks));
  for (std::vector<int>& block : free)
    for (int i = 0; i < racks_each; ++i) block.push_back(2 + below(slots_max - 1));
  std::vector<int> sizes = *std::ranges::max_element(free, {}, sum_of);
  const int best = sum_of(sizes);
  while (static_cast<int>(sizes.size()) < children) {
    const auto split = static_cast<std::size_t>(below(static_cast<int>(sizes.size())));
    if (sizes[split] < 2) continue;
    sizes.push_back(1 + below(sizes[split] - 1));
    sizes[split] -= sizes.back();
  }
  for (int spare = below(best / 10 + 1); spare > 0;) {
    const auto smaller = static_cast<std::size_t>(below(children));
    if (sizes[smaller] < 2) continue;
    --sizes[smaller];
    --spare;
  }
  for (int i = children; i > 1; --i)
    std::swap(sizes[static_cast<std::size_t>(i - 1)], sizes[static_cast<std::size_t>(below(i))]);
  TreeWorld world{racks(free), {"block", children, {}, {}}};
  for (const int size : sizes) world.tree.children.push_back(gang("rack", size, size));
  return world;
}

TEST(TreesOfSiblings, NoneIsMissed) {
  int missed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const TreeWorld world = sibling_world(seed, 8, 8, 18, 10);
    TreeBench bench(world);
    const TreeOutcome outcome = bench.decide();
    ASSERT_EQ(bench.complaint_about(outcome), "") << seed << "\n" << world.text();
    missed += outcome.kind != GroupOutcome::Kind::Placed;
  }
  EXPECT_EQ(missed, 0);
}

// Of random trees, a world is judged right when trying everything says the same.
struct Tally {
  int feasible = 0, missed = 0, proved = 0;
};

Tally compare(std::uint64_t first, std::uint64_t count, TreeWorld (*make)(std::uint64_t)) {
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const TreeWorld world = make(seed);
    TreeBench bench(world);
    const TreeOutcome outcome = bench.decide();
    const std::string complaint = bench.complaint_about(outcome);
    EXPECT_EQ(complaint, "") << seed << "\n" << world.text() << bench.nodes_of(outcome);
    const std::optional<bool> known = fits_by_trying_all(world);
    if (!known) continue;
    const bool fits = *known;
    const bool placed = outcome.kind == GroupOutcome::Kind::Placed;
    tally.feasible += fits;
    if (fits && !placed) {
      ++tally.missed;
      if (tally.missed <= 3) ADD_FAILURE() << "missed " << seed << "\n" << world.text();
    }
    EXPECT_TRUE(fits || !placed) << seed;
    if (!placed && outcome.refusal->group->unproved.empty()) {
      ++tally.proved;
      EXPECT_FALSE(fits) << "refuted " << seed << "\n" << world.text();
    }
  }
  return tally;
}

TEST(TreesOfAllKinds, AreFoundWheneverTheyFit) {
  const Tally tally = compare(0, 2000, random_world);
  EXPECT_EQ(tally.missed, 0) << "of " << tally.feasible;
  EXPECT_GT(tally.feasible, 800);
  EXPECT_GT(tally.proved, 100);
}

// Trees whose groups choose no domain are balanced over all pods instead (whole_tree_test.cc).
bool any_domain_below(const TreeSpec& spec) {
  return std::ranges::any_of(
      spec.children, [](const TreeSpec& child) { return !child.key.empty() || any_domain_below(child); });
}

TreeWorld spread_world(std::uint64_t seed) {
  TreeWorld world = random_world(seed);
  world.is_spread = any_domain_below(world.tree);
  return world;
}

TEST(TreesOfAllKinds, ThatAreSpreadAreFoundWheneverTheyFit) {
  const Tally tally = compare(0, 1000, spread_world);
  EXPECT_EQ(tally.missed, 0) << "of " << tally.feasible;
  EXPECT_GT(tally.feasible, 400);
}

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// BERTH_TREE_SEEDS: so many instead, from BERTH_TREE_FIRST_SEED on.
TEST(TreesOfAllKinds, WithDevicesAreFoundWheneverTheyFit) {
  const std::uint64_t seeds = number_of("BERTH_TREE_SEEDS", 400);
  const Tally tally = compare(number_of("BERTH_TREE_FIRST_SEED", 0), seeds, random_device_world);
  EXPECT_EQ(tally.missed, 0) << "of " << tally.feasible;
  EXPECT_GT(tally.feasible, 100);
  EXPECT_GT(tally.proved, 20);
}

}  // namespace
}  // namespace berth::placement
