// Trees whose root wishes something of all their pods: rows worked out by hand, and small random worlds
// against trying every assignment.
#include "placement/trees/whole_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <set>

#include "base/random.h"
#include "placement/wishes/reached.h"
#include "placement/wishes/test_wishes.h"

namespace berth::placement {
namespace {

struct WholeTreeCase {
  std::string name;
  WishWorld world;
  std::string nodes;      // empty: refused
  std::string wish = {};  // of the root
};

void PrintTo(const WholeTreeCase& one, std::ostream* out) {
  *out << one.name;
}

WishWorld tree_world(const std::vector<std::pair<std::string, int>>& racks, std::vector<WishGroup> groups,
                     GroupWish wish) {
  WishWorld world;
  for (const auto& [path, cpu] : racks) world.nodes.push_back({path.substr(0, 2), path.substr(3), cpu});
  for (const WishGroup& group : groups) world.pods.insert(world.pods.end(), std::size_t(group.pods), 1);
  world.groups = std::move(groups);
  world.wish = std::move(wish);
  return world;
}

GroupWish cut_into(std::int64_t min, std::int64_t max) {
  GroupWish wish = wish_for({});
  wish.segments = WishSegments{kRackLevel, min, max};
  return wish;
}

GroupWish with_contiguous_ranks() {
  GroupWish wish = wish_for({kRackLevel});
  wish.contiguous_ranks = true;
  return wish;
}

GroupWish on_one_rail() {
  GroupWish wish = wish_for({});
  wish.same_devices = WishSameDevices{"c", "gpu.example.com/rail"};
  return wish;
}

WishWorld with_rails(WishWorld world, const std::vector<std::vector<int>>& rails, int devices) {
  for (std::size_t i = 0; i < rails.size(); ++i) world.nodes[i].rails = rails[i];
  world.devices = devices;
  world.one_rail = true;
  return world;
}

class WholeTrees : public ::testing::TestWithParam<WholeTreeCase> {};

TEST_P(WholeTrees, ArePlaced) {
  WishBench bench(GetParam().world);
  const GroupOutcome outcome = bench.decide_tree();
  const bool refused = outcome.kind != GroupOutcome::Kind::Placed;
  EXPECT_EQ(refused ? "" : bench.nodes_of(outcome), GetParam().nodes);
  const std::string& wish = GetParam().wish;
  EXPECT_EQ(wish.empty() ? "" : WishBench::wish_of(outcome), wish);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, WholeTrees,
    ::testing::Values(
        WholeTreeCase{"SegmentsCountThePodsOfAllGroups",
                      tree_world({{"b0/r0", 5}, {"b0/r1", 5}}, {{3, 3}, {5, 5}}, cut_into(4, 4)),
                      "n0: 4, n1: 4", ": b0/r0 4, b0/r1 4"},
        WholeTreeCase{"SevenPodsCannotBeCutIntoFours",
                      tree_world({{"b0/r0", 5}, {"b0/r1", 5}}, {{3, 3}, {4, 4}}, cut_into(4, 4)), ""},
        WholeTreeCase{"APodThatNoGroupNeedsIsLeftOut",
                      tree_world({{"b0/r0", 5}, {"b0/r1", 5}}, {{4, 3}, {5, 5}}, cut_into(4, 4)),
                      "-: 1, n0: 4, n1: 4"},
        WholeTreeCase{"AnotherChildWhereTheOldestDoesNotFit",
                      [] {
                        WishWorld world =
                            tree_world({{"b0/r0", 4}, {"b0/r1", 3}}, {{3, 3}, {4, 4}}, cut_into(4, 4));
                        world.groups_min = 1;
                        return world;
                      }(),
                      "-: 3, n0: 4"},
        WholeTreeCase{"BalancedOverAllPods",
                      [] {
                        GroupWish wish = wish_for({kRackLevel}, kBlockLevel);
                        wish.distribution = WishDistribution::Balanced;
                        return tree_world({{"b0/r0", 5}, {"b0/r1", 4}, {"b1/r2", 6}}, {{2, 2}, {5, 5}}, wish);
                      }(),
                      "n0: 4, n1: 3"},
        WholeTreeCase{"OneRailForAllGroups",
                      with_rails(tree_world({{"b0/r0", 9}, {"b0/r1", 9}}, {{1, 1}, {2, 2}}, on_one_rail()),
                                 {{1, 1, 2}, {1, 2, 2}}, 1),
                      "n0: 2, n1: 1"},
        WholeTreeCase{"NoRailForAllGroups",
                      with_rails(tree_world({{"b0/r0", 9}, {"b0/r1", 9}}, {{2, 2}, {2, 2}}, on_one_rail()),
                                 {{1, 1, 2}, {1, 2, 2}}, 1),
                      ""},
        WholeTreeCase{"OneRailForGroupsInRacksOfTheirOwn",
                      with_rails(tree_world({{"b0/r0", 9}, {"b0/r1", 9}}, {{2, 2, "rack"}, {1, 1, "rack"}},
                                            on_one_rail()),
                                 {{1, 2, 2}, {1, 1, 1, 2}}, 1),
                      "n1: 3"},
        WholeTreeCase{"OneRailForTheSmallestOfManyGroups",
                      [] {
                        std::vector<WishGroup> groups(10, {2, 2, "rack"});
                        groups.insert(groups.end(), 2, {1, 1, "rack"});
                        WishWorld world =
                            with_rails(tree_world({{"b0/r0", 9}, {"b0/r1", 9}}, groups, on_one_rail()),
                                       {{1, 1}, {2}}, 1);
                        world.groups_min = 2;
                        return world;
                      }(),
                      "-: 20, n0: 2"},
        WholeTreeCase{"NoRailForGroupsInRacksOfTheirOwn",
                      with_rails(tree_world({{"b0/r0", 9}, {"b0/r1", 9}}, {{3, 3, "rack"}, {3, 3, "rack"}},
                                            on_one_rail()),
                                 {{1, 1, 1}, {2, 2, 2}}, 1),
                      ""}),
    [](const auto& info) { return info.param.name; });

// By member: "0011".
std::string numbers_of_nodes(WishBench& bench, const GroupOutcome& outcome) {
  std::string numbers;
  for (const MemberOutcome& member : outcome.members) numbers += bench.cluster().node(member.node).name[1];
  return numbers;
}

TEST(WholeTree, RanksGoOnFromGroupToGroup) {
  WishWorld world =
      tree_world({{"b0/r0", 4}, {"b0/r1", 4}, {"b0/r2", 4}}, {{5, 5}, {5, 5}}, with_contiguous_ranks());
  WishBench bench(world);
  const GroupOutcome outcome = bench.decide_tree();
  ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Placed);
  EXPECT_EQ(numbers_of_nodes(bench, outcome), "0000111122");
  EXPECT_EQ(outcome.wish->rank_crossings, 3);
}

TEST(WholeTree, RanksOfAGroupWithARackOfItsOwnAreContiguousThere) {
  WishWorld world = tree_world({{"b0/r0", 2}, {"b0/r0", 2}, {"b0/r1", 3}}, {{3, 3, "rack"}, {4, 4, "rack"}},
                               with_contiguous_ranks());
  world.names = {"g-0-2", "g-0-0", "g-0-1", "g-1-3", "g-1-0", "g-1-2", "g-1-1"};
  WishBench bench(world);
  const GroupOutcome outcome = bench.decide_tree();
  ASSERT_EQ(outcome.kind, GroupOutcome::Kind::Placed);
  EXPECT_EQ(numbers_of_nodes(bench, outcome), "2221010");
}

TEST(WholeTree, ARefusalSaysWhatCannotBeCut) {
  WishBench bench(tree_world({{"b0/r0", 5}, {"b0/r1", 5}}, {{3, 3}, {4, 4}}, cut_into(4, 4)));
  const GroupOutcome outcome = bench.decide_tree();
  ASSERT_TRUE(outcome.refusal && outcome.refusal->group->wish);
  EXPECT_EQ(outcome.refusal->group->wish->can_be_cut, 4);
  EXPECT_EQ(outcome.refusal->of.kind, EntityKind::CompositeGroup);
  EXPECT_EQ(outcome.refusal->group->unproved, "");
}

// Nodes without specs, whose pods are all the same one.
class MadeTree {
 public:
  std::size_t add_composite(std::optional<std::size_t> parent, std::int32_t minimum) {
    api::CompositePodGroup& group = composites_.emplace_back();
    group.gang_min = minimum;
    const std::size_t node = add(parent);
    input.nodes[node].composite = &group;
    return node;
  }
  // Needs one member, which waits or has a place.
  void add_group(std::size_t parent, bool waits) {
    api::PodGroup& group = groups_.emplace_back();
    group.gang_min = 1;
    GroupInput& own = input.nodes[add(parent)].group;
    own.group = &group;
    own.scheduled = waits ? 0 : 1;
    if (waits) own.waiting = {&pod_};
  }
  TreeInput input;

 private:
  std::size_t add(std::optional<std::size_t> parent) {
    const std::size_t node = input.nodes.size();
    input.nodes.emplace_back().parent = parent;
    if (parent) input.nodes[*parent].children.push_back(node);
    return node;
  }
  api::Pod pod_;
  std::list<api::CompositePodGroup> composites_;
  std::list<api::PodGroup> groups_;
};

TEST(TreeMinima, ChoicesBelowGroupsThatAreNotNeededAreNone) {
  MadeTree tree;
  const std::size_t root = tree.add_composite(std::nullopt, 2);
  const std::size_t half = tree.add_composite(root, 1);
  tree.add_group(half, false);
  const std::size_t more = tree.add_composite(half, 3);
  for (int i = 0; i < 10; ++i) tree.add_group(more, true);
  tree.add_group(root, true);
  const TreeMinima::Orders orders = TreeMinima(tree.input).orders();
  EXPECT_TRUE(orders.complete) << "3 of 10 groups are more than 64 choices, but none is tried";
  ASSERT_EQ(orders.all.size(), 1u);
  EXPECT_EQ(orders.all.front().sizes, (std::vector<std::size_t>{1, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(TreeMinima, HasNoOrdersOfMoreGroupsThanAreTried) {
  MadeTree tree;
  const std::size_t root = tree.add_composite(std::nullopt, 1);
  while (tree.input.nodes.size() <= kWholeTreeNodesMax) tree.add_group(root, true);
  const TreeMinima::Orders orders = TreeMinima(tree.input).orders();
  EXPECT_FALSE(orders.complete);
  EXPECT_TRUE(orders.all.empty());
}

// Tries every assignment of pods to nodes, and to none.
class WholeTreeJudge {
 public:
  explicit WholeTreeJudge(const WishWorld& world) : world_(world), at_(world.pods.size(), kNone) {
    for (std::size_t group = 0; group < world.groups.size(); ++group)
      for (int i = 0; i < world.groups[group].pods; ++i) group_of_.push_back(group);
    for (const WishNode& node : world.nodes) free_.push_back(node.cpu);
  }

  struct Found {
    bool fits = false;
    std::optional<std::size_t> domains;  // with all pods: the fewest of the level of the parts
  };
  Found run() {
    found_ = {};
    go(0);
    return found_;
  }
  // What is wrong with an assignment; empty: nothing.
  std::string complaint(const std::vector<std::optional<std::size_t>>& nodes) {
    for (std::size_t pod = 0; pod < nodes.size(); ++pod) {
      at_[pod] = nodes[pod].value_or(kNone);
      if (nodes[pod] && (free_[*nodes[pod]] -= world_.pods[pod]) < 0) return "too many pods on a node";
    }
    return !suits_minima() ? "minima" : !suits_wish() ? "wish" : "";
  }
  std::size_t domains() const { return parts().size(); }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  void go(std::size_t pod) {
    if (pod == at_.size()) {
      if (!suits_minima() || !suits_wish()) return;
      found_.fits = true;
      if (std::ranges::count(at_, kNone) > 0) return;
      found_.domains = std::min(found_.domains.value_or(SIZE_MAX), domains());
      return;
    }
    for (std::size_t node = 0; node < free_.size(); ++node) {
      if (free_[node] < world_.pods[pod]) continue;
      free_[node] -= world_.pods[pod];
      at_[pod] = node;
      go(pod + 1);
      free_[node] += world_.pods[pod];
    }
    at_[pod] = kNone;
    go(pod + 1);
  }
  std::string path(std::size_t node, std::size_t level) const {
    const WishNode& one = world_.nodes[node];
    return level == kBlockLevel ? one.block : one.block + "/" + one.rack;
  }
  std::map<std::string, std::int64_t> parts() const {
    std::map<std::string, std::int64_t> sizes;
    for (const std::size_t node : at_)
      if (node != kNone) ++sizes[path(node, world_.wish.segments ? world_.wish.segments->level : kRackLevel)];
    return sizes;
  }
  bool suits_minima() const {
    std::vector<int> counts(world_.groups.size());
    for (std::size_t pod = 0; pod < at_.size(); ++pod) counts[group_of_[pod]] += at_[pod] != kNone;
    int complete = 0;
    for (std::size_t group = 0; group < counts.size(); ++group) {
      const bool has = counts[group] >= world_.groups[group].minimum;
      if (!has && counts[group] > 0) return false;
      complete += has;
    }
    return complete >= (world_.groups_min > 0 ? world_.groups_min : static_cast<int>(counts.size()));
  }
  bool suits_wish() const {
    const GroupWish& wish = world_.wish;
    if (wish.required) {
      std::set<std::string> domains;
      for (const std::size_t node : at_)
        if (node != kNone) domains.insert(path(node, *wish.required));
      if (domains.size() > 1) return false;
    }
    if (wish.segments)
      for (const auto& [name, size] : parts())
        if (size < wish.segments->min || size > wish.segments->max) return false;
    return !wish.same_devices || has_common_rail();
  }
  bool has_common_rail() const {
    std::map<std::size_t, std::int64_t> pods;
    for (const std::size_t node : at_)
      if (node != kNone) ++pods[node];
    for (const int rail : {0, 1})
      if (std::ranges::all_of(pods, [&](const auto& one) {
            return std::ranges::count(world_.nodes[one.first].rails, rail) >= one.second * world_.devices;
          }))
        return true;
    return false;
  }

  const WishWorld& world_;
  std::vector<std::size_t> group_of_;  // by pod
  std::vector<std::size_t> at_;        // by pod: its node
  std::vector<int> free_;              // by node
  Found found_;
};

WishWorld random_whole_tree(std::uint64_t seed) {
  SeededRandom random(seed);
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
  };
  WishWorld world;
  world.wish = wish_for({}, below(3) == 0 ? std::optional(kBlockLevel) : std::nullopt);
  const int wishes = 1 + below(7);
  if ((wishes & 1) != 0) {
    const std::int64_t min = 1 + below(3);
    world.wish.segments = WishSegments{below(3) == 0 ? kBlockLevel : kRackLevel, min, min + below(3)};
  }
  if ((wishes & 2) != 0) world.wish.contiguous_ranks = true;
  if ((wishes & 4) != 0) {
    world.wish.same_devices = WishSameDevices{"c", "gpu.example.com/rail"};
    world.devices = 1 + below(2);
    world.one_rail = true;
  }
  if (below(3) == 0) world.wish.preferred = {kRackLevel};
  for (int i = 0; i < 5; ++i) {
    const int rack = below(4);
    WishNode node{"b" + std::to_string(rack / 2), "r" + std::to_string(rack), 1 + below(3)};
    for (int device = below(5); device > 0; --device) node.rails.push_back(below(2));
    world.nodes.push_back(std::move(node));
  }
  const bool alike = below(2) == 0;
  for (int left = 6; left > 0 && world.groups.size() < 3;) {
    WishGroup& group = world.groups.emplace_back();
    group.pods = 1 + below(std::min(left, 3));
    group.minimum = below(2) == 0 ? group.pods : 1 + below(group.pods);
    left -= group.pods;
    const int cpu = alike ? 1 : 1 + below(2);
    world.pods.insert(world.pods.end(), static_cast<std::size_t>(group.pods), cpu);
  }
  if (below(3) == 0) world.groups_min = 1 + below(static_cast<int>(world.groups.size()));
  return world;
}

std::string text_of_tree(const WishWorld& world) {
  std::string text;
  for (const WishNode& node : world.nodes) {
    text += node.block + "/" + node.rack + ":" + std::to_string(node.cpu) + "[";
    for (const int rail : node.rails) text += std::to_string(rail);
    text += "] ";
  }
  std::size_t pod = 0;
  for (const WishGroup& group : world.groups) {
    text += "| min " + std::to_string(group.minimum) + " of " + std::to_string(group.pods) + " x " +
            std::to_string(world.pods[pod]) + " ";
    pod += static_cast<std::size_t>(group.pods);
  }
  return text + "| root " + std::to_string(world.groups_min) + " devices " + std::to_string(world.devices) +
         " | " + wish_text(world.wish);
}

TEST(WholeTreesOfAllKinds, AreFoundWheneverTheyFit) {
  int feasible = 0, refuted = 0, missed = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const WishWorld world = random_whole_tree(seed);
    WholeTreeJudge judge(world);
    const WholeTreeJudge::Found known = judge.run();
    WishBench bench(world);
    const GroupOutcome outcome = bench.decide_tree();
    const bool found = outcome.kind == GroupOutcome::Kind::Placed;
    feasible += known.fits;
    const bool is_proved = !found && outcome.refusal->group->unproved.empty();
    refuted += is_proved;
    missed += known.fits && !found;
    ASSERT_TRUE(known.fits ? !is_proved : !found)
        << seed << " " << text_of_tree(world) << " " << bench.nodes_of(outcome);
    if (!found) continue;
    std::vector<std::optional<std::size_t>> nodes;
    for (const MemberOutcome& member : outcome.members)
      nodes.push_back(member.node.valid()
                          ? std::optional(std::stoul(bench.cluster().node(member.node).name.substr(1)))
                          : std::nullopt);
    WholeTreeJudge own(world);
    ASSERT_EQ(own.complaint(nodes), "")
        << seed << " " << text_of_tree(world) << " " << bench.nodes_of(outcome);
    const bool all = std::ranges::all_of(nodes, [](const auto& node) { return node.has_value(); });
    ASSERT_EQ(all, known.domains.has_value())
        << seed << " " << text_of_tree(world) << " " << bench.nodes_of(outcome);
    // Of the sets of devices the first that suits is taken, whatever the domains.
    const bool counts_domains =
        !world.wish.same_devices && (world.wish.segments || !world.wish.preferred.empty());
    if (!all || !counts_domains) continue;
    ASSERT_EQ(own.domains(), *known.domains)
        << seed << " " << text_of_tree(world) << " " << bench.nodes_of(outcome);
  }
  // Of members that no group needs, only some choices are tried.
  EXPECT_LE(missed, feasible / 100);
  EXPECT_GT(feasible, 400);
  EXPECT_GT(refuted, 100);
}

}  // namespace
}  // namespace berth::placement
