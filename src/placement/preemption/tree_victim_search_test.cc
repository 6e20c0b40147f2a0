// TreeVictimSearch against a judge that tries every set of victims and every way to place the tree, on small
// random worlds; and rows worked out by hand.
#include "placement/preemption/tree_victim_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "placement/trees/test_trees.h"

namespace berth::placement {
namespace {

using OccupantSet = std::set<std::size_t>;

std::optional<bool> fits_without(TreeWorld world, const OccupantSet& gone) {
  std::vector<TreeWorld::Occupant> left;
  for (std::size_t i = 0; i < world.occupants.size(); ++i)
    if (!gone.contains(i)) left.push_back(world.occupants[i]);
  world.occupants = left;
  return fits_by_trying_all(world);
}

// Highest priority, number.
using TreePrice = std::pair<int, std::size_t>;

TreePrice tree_price(const TreeWorld& world, const OccupantSet& gone) {
  int top = INT_MIN;
  for (const std::size_t i : gone) top = std::max(top, world.occupants[i].priority);
  return {top, gone.size()};
}

// None: too many ways to place the tree.
std::optional<std::optional<TreePrice>> cheapest_for_tree(const TreeWorld& world) {
  std::optional<TreePrice> best;
  for (std::size_t bits = 0; bits < std::size_t{1} << world.occupants.size(); ++bits) {
    OccupantSet gone;
    for (std::size_t i = 0; i < world.occupants.size(); ++i)
      if ((bits >> i & 1) != 0) gone.insert(i);
    const bool allowed =
        std::ranges::all_of(gone, [&](std::size_t i) { return world.occupants[i].priority < 0; });
    const TreePrice price = tree_price(world, gone);
    if (!allowed || (best && *best <= price)) continue;
    const std::optional<bool> fits = fits_without(world, gone);
    if (!fits) return std::nullopt;
    if (*fits) best = price;
  }
  return best;
}

struct FoundVictims {
  bool placed = false;
  std::optional<OccupantSet> gone;
  std::vector<NodeId> nodes;
};

FoundVictims search_tree(const TreeWorld& world) {
  TreeBench bench(world);
  Preempting preempting;
  preempting.searches = true;
  const TreeOutcome outcome = bench.decide(preempting);
  FoundVictims found{outcome.kind == GroupOutcome::Kind::Placed, {}, {}};
  if (!outcome.preemption) return found;
  found.gone.emplace();
  for (const PreemptionVictim& victim : outcome.preemption->victims)
    found.gone->insert(static_cast<std::size_t>(std::stoi(victim.uid.substr(1))));
  found.nodes = outcome.preemption->nodes;
  return found;
}

TreeWorld random_occupied_world(std::uint64_t seed) {
  TreeWorld world = random_world(seed);
  SeededRandom random(seed + 1'000'000);
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
  };
  for (std::size_t node = 0; node < world.nodes.size(); ++node)
    for (int left = world.nodes[node].cpu; left > 0 && world.occupants.size() < 9;) {
      const int cpu = 1 + below(left);
      left -= cpu;
      if (below(4) > 0)
        world.occupants.push_back({static_cast<int>(node), cpu, below(8) == 0 ? 0 : -1 - below(3)});
    }
  return world;
}

TEST(TreeVictimSearch, VictimsAreMinimalAndAsCheapAsTheCheapest) {
  int found_some = 0, found_none = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const TreeWorld world = random_occupied_world(seed);
    const auto known = cheapest_for_tree(world);
    if (!known) continue;
    const FoundVictims found = search_tree(world);
    const std::string text = std::to_string(seed) + "\n" + world.text();
    ASSERT_EQ(found.placed, *known && (*known)->second == 0) << text;
    if (found.placed) continue;
    ASSERT_EQ(found.gone.has_value(), known->has_value()) << text;
    if (!found.gone) {
      ++found_none;
      continue;
    }
    ++found_some;
    ASSERT_TRUE(*fits_without(world, *found.gone)) << text;
    for (const std::size_t one : *found.gone) {
      OccupantSet fewer = *found.gone;
      fewer.erase(one);
      ASSERT_FALSE(*fits_without(world, fewer)) << one << " stays in vain\n" << text;
    }
    const auto [top, number] = tree_price(world, *found.gone);
    ASSERT_EQ(top, (*known)->first) << text;
    ASSERT_LE(10 * number, 11 * (*known)->second) << text;
  }
  EXPECT_GT(found_some, 60);
  EXPECT_GT(found_none, 20);
}

}  // namespace
}  // namespace berth::placement
