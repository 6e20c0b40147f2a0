// A group with a wish against trying every assignment, on small random worlds: the plan is the best by the
// stated order, and is found whenever there is one.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <map>
#include <set>

#include "placement/wishes/test_wishes.h"

namespace berth::placement {
namespace {

int below_of_wishes(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}

constexpr int kRailsOfWishes = 3;

// Less is better; the members that found no place come first.
using Worth = std::vector<std::int64_t>;

class WishJudge {
 public:
  explicit WishJudge(const WishWorld& world) : world_(world), wish_(world.wish) {
    sizes_.assign(world.nodes.size(), 0);
    for (const std::size_t node : world.placed) ++sizes_[node];
    placed_ = sizes_;
    std::size_t narrowest = SIZE_MAX;
    const auto add = [&](std::optional<std::size_t> level) {
      const std::size_t depth = std::max(depth_of(level), depth_of(wish_.required));
      if (depth < narrowest) rungs_.push_back(narrowest = depth);
    };
    for (const std::size_t level : wish_.preferred) add(level);
    add(std::nullopt);
  }

  std::optional<Worth> best() {
    best_ = std::nullopt;
    go(0, 0);
    return best_;
  }
  // Of pods that are not alike: without what follows the number of domains.
  std::optional<Worth> best_of_pods() {
    best_ = std::nullopt;
    free_.clear();
    for (std::size_t n = 0; n < world_.nodes.size(); ++n) free_.push_back(world_.nodes[n].cpu - placed_[n]);
    go_pod(0);
    return best_;
  }
  static Worth without_waste(Worth worth) {
    worth.resize(std::min<std::size_t>(worth.size(), 4));
    return worth;
  }
  std::optional<Worth> worth_of(const std::vector<int>& sizes) {
    sizes_ = sizes;
    return worth();
  }
  const std::vector<int>& placed() const { return placed_; }

 private:
  static std::size_t depth_of(std::optional<std::size_t> level) { return level ? *level + 1 : 0; }
  // Empty: in no domain of this depth.
  std::string path(std::size_t node, std::size_t depth) const {
    const WishNode& one = world_.nodes[node];
    if (depth == 0) return "all";
    if (one.block.empty() || (depth > 1 && one.rack.empty())) return "";
    return depth == 1 ? one.block : one.block + "/" + one.rack;
  }
  void go(std::size_t node, std::size_t placed) {
    if (node == world_.nodes.size()) {
      if (const auto found = worth(); found && (!best_ || *found < *best_)) best_ = found;
      return;
    }
    for (int more = 0; more + placed_[node] <= world_.nodes[node].cpu; ++more) {
      if (placed + static_cast<std::size_t>(more) > world_.pods.size()) break;
      sizes_[node] = placed_[node] + more;
      go(node + 1, placed + static_cast<std::size_t>(more));
    }
    sizes_[node] = placed_[node];
  }
  void go_pod(std::size_t pod) {
    if (pod == world_.pods.size()) {
      if (auto found = worth(); found && (!best_ || without_waste(*found) < *best_))
        best_ = without_waste(*found);
      return;
    }
    go_pod(pod + 1);
    for (std::size_t n = 0; n < free_.size(); ++n) {
      if (free_[n] < world_.pods[pod]) continue;
      free_[n] -= world_.pods[pod];
      ++sizes_[n];
      go_pod(pod + 1);
      --sizes_[n];
      free_[n] += world_.pods[pod];
    }
  }
  bool in_one(std::size_t depth) const {
    std::set<std::string> paths;
    for (std::size_t n = 0; n < sizes_.size(); ++n)
      if (sizes_[n] > 0) paths.insert(path(n, depth));
    return paths.size() == 1 && !paths.contains("");
  }
  std::optional<Worth> worth() const {
    std::int64_t members = 0;
    for (std::size_t n = 0; n < sizes_.size(); ++n) members += sizes_[n] - placed_[n];
    const std::int64_t all = static_cast<std::int64_t>(world_.pods.size());
    const std::int64_t minimum = world_.minimum > 0 ? world_.minimum : all + std::ssize(world_.placed);
    if (members < std::max<std::int64_t>(1, minimum - std::ssize(world_.placed))) return std::nullopt;
    std::size_t rung = 0;
    while (rung < rungs_.size() && !in_one(rungs_[rung])) ++rung;
    if (rung == rungs_.size()) return std::nullopt;
    Worth worth{all - members, static_cast<std::int64_t>(rung)};
    if (wish_.segments && !suits_segments()) return std::nullopt;
    std::size_t parts = wish_.segments ? depth_of(wish_.segments->level) : 0;
    for (const std::size_t level : wish_.preferred)
      if (parts == 0 && depth_of(level) > rungs_[rung]) parts = depth_of(level);
    if (parts > rungs_[rung]) add_parts(rungs_[rung], parts, members, worth);
    return worth;
  }
  bool suits_segments() const {
    std::map<std::string, std::pair<int, int>> parts;  // members, and new ones
    for (std::size_t n = 0; n < sizes_.size(); ++n) {
      if (sizes_[n] == 0) continue;
      auto& part = parts[path(n, depth_of(wish_.segments->level))];
      part.first += sizes_[n];
      part.second += sizes_[n] - placed_[n];
    }
    return !parts.contains("") && std::ranges::all_of(parts, [&](const auto& one) {
      const auto [size, more] = one.second;
      return size >= wish_.segments->min && (size <= wish_.segments->max || more == 0);
    });
  }
  void add_parts(std::size_t outer, std::size_t inner, std::int64_t members, Worth& worth) const {
    std::map<std::string, std::int64_t> sizes;
    for (std::size_t n = 0; n < sizes_.size(); ++n)
      if (sizes_[n] > 0) sizes[path(n, inner)] += sizes_[n];
    worth.push_back(sizes.contains("") ? 1 : 0);
    if (sizes.contains("")) return;
    std::int64_t waste = -members, smallest = INT64_MAX, largest = 0;
    for (std::size_t n = 0; n < sizes_.size(); ++n)
      if (sizes.contains(path(n, inner))) waste += world_.nodes[n].cpu - placed_[n];
    std::set<std::string> parents;
    for (const auto& [name, size] : sizes) {
      smallest = std::min(smallest, size);
      largest = std::max(largest, size);
      parents.insert(name.substr(0, name.find('/')));
    }
    worth.push_back(std::ssize(sizes));
    if (wish_.distribution == WishDistribution::Balanced) worth.push_back(largest - smallest);
    worth.push_back(waste);
    for (const std::size_t level : wish_.preferred)
      if (depth_of(level) > outer && depth_of(level) < inner) worth.push_back(std::ssize(parents));
  }

  const WishWorld& world_;
  const GroupWish& wish_;
  std::vector<std::size_t> rungs_;  // depths
  std::vector<int> sizes_, placed_, free_;
  std::optional<Worth> best_;
};

WishWorld random_world() {
  WishWorld world;
  const int nodes = 1 + below_of_wishes(7);
  for (int i = 0; i < nodes; ++i) {
    WishNode node{"b" + std::to_string(below_of_wishes(2)), "r" + std::to_string(below_of_wishes(3)),
                  1 + below_of_wishes(3)};
    if (below_of_wishes(9) == 0) node.rack = "";
    if (below_of_wishes(15) == 0) node.block = "";
    world.nodes.push_back(node);
  }
  const bool has_placed = below_of_wishes(3) == 0;
  for (std::size_t i = 0; has_placed && i < world.nodes.size(); ++i)
    if (below_of_wishes(3) == 0 && !world.nodes[i].rack.empty() && !world.nodes[i].block.empty())
      world.placed.push_back(i);
  world.pods.assign(static_cast<std::size_t>(1 + below_of_wishes(8)), 1);
  if (below_of_wishes(2) == 0) world.minimum = 1 + below_of_wishes(static_cast<int>(world.pods.size()));
  static const std::vector<std::vector<std::size_t>> kPreferred = {
      {}, {kRackLevel}, {kBlockLevel}, {kRackLevel, kBlockLevel}, {kBlockLevel, kRackLevel}};
  world.wish = wish_for(kPreferred[static_cast<std::size_t>(below_of_wishes(5))]);
  // Members with a place that break what is required end the attempt with an error.
  if (world.placed.empty() && below_of_wishes(4) == 0)
    world.wish.required = static_cast<std::size_t>(below_of_wishes(2));
  if (below_of_wishes(2) == 0) world.wish.distribution = WishDistribution::Balanced;
  world.wish.contiguous_ranks = below_of_wishes(4) == 0;
  if (below_of_wishes(3) == 0) {
    const std::int64_t min = 1 + below_of_wishes(3);
    world.wish.segments =
        WishSegments{static_cast<std::size_t>(below_of_wishes(2)), min, min + below_of_wishes(3)};
  }
  return world;
}

std::string text_of_world(const WishWorld& world) {
  std::string text;
  for (std::size_t i = 0; i < world.nodes.size(); ++i)
    text += world.nodes[i].block + "/" + world.nodes[i].rack + ":" + std::to_string(world.nodes[i].cpu) +
            (std::ranges::count(world.placed, i) > 0 ? "* " : " ");
  text +=
      "| " + std::to_string(world.pods.size()) + " pods, min " + std::to_string(world.minimum) + " | wishes";
  for (const std::size_t level : world.wish.preferred) text += " " + std::to_string(level);
  if (world.wish.required) text += " required " + std::to_string(*world.wish.required);
  if (world.wish.segments)
    text += " segments " + std::to_string(world.wish.segments->level) + ": " +
            std::to_string(world.wish.segments->min) + ".." + std::to_string(world.wish.segments->max);
  return text + (world.wish.distribution == WishDistribution::Balanced ? " balanced" : "");
}

std::string text_of(const std::optional<Worth>& worth) {
  if (!worth) return "none";
  std::string text;
  for (const std::int64_t one : *worth) text += std::to_string(one) + " ";
  return text;
}

// None: the group is not placed. What breaks a rule fails.
std::optional<Worth> worth_of(const GroupOutcome& outcome, WishBench& bench, const WishWorld& world,
                              WishJudge& judge) {
  if (outcome.kind != GroupOutcome::Kind::Placed) return std::nullopt;
  std::vector<int> sizes = judge.placed();
  for (const MemberOutcome& member : outcome.members)
    if (member.node.valid())
      ++sizes[static_cast<std::size_t>(std::stoi(bench.cluster().node(member.node).name.substr(1)))];
  std::optional<Worth> worth = judge.worth_of(sizes);
  if (!worth) RC_FAIL("broken: " + text_of_world(world) + " -> " + bench.nodes_of(outcome));
  return worth;
}

void compare_with_every_assignment() {
  const WishWorld world = random_world();
  WishJudge judge(world);
  const std::optional<Worth> best = judge.best();
  WishBench bench(world);
  const GroupOutcome outcome = bench.decide();
  const std::optional<Worth> found = worth_of(outcome, bench, world, judge);
  if (found != best)
    RC_FAIL(text_of_world(world) + ": found " + text_of(found) + " by " + bench.nodes_of(outcome) +
            ", best " + text_of(best));
}

// Members that are not alike: found if all of them fit, by the best wish, in the fewest domains.
void compare_unlike_members() {
  WishWorld world = random_world();
  world.nodes.resize(std::min<std::size_t>(world.nodes.size(), 5));
  std::erase_if(world.placed, [&](std::size_t node) { return node >= world.nodes.size(); });
  world.pods.resize(std::min<std::size_t>(world.pods.size(), 5));
  for (int& cpu : world.pods) cpu = 1 + below_of_wishes(2);
  world.minimum = 0;
  WishJudge judge(world);
  const std::optional<Worth> best = judge.best_of_pods();
  WishBench bench(world);
  const GroupOutcome outcome = bench.decide();
  std::optional<Worth> found = worth_of(outcome, bench, world, judge);
  if (found) found = WishJudge::without_waste(*found);
  std::string cpus;
  for (const int cpu : world.pods) cpus += std::to_string(cpu) + " ";
  if (found != best)
    RC_FAIL(text_of_world(world) + ", cpus " + cpus + ": found " + text_of(found) + " by " +
            bench.nodes_of(outcome) + ", best " + text_of(best));
}

// All rules of a policy at once: parts, ranks, and a device of the same rail for each pod.
WishWorld random_world_of_all_rules() {
  WishWorld world = random_world();
  world.placed.clear();
  if (below_of_wishes(3) == 0) world.wish.required = static_cast<std::size_t>(below_of_wishes(2));
  world.wish.contiguous_ranks = below_of_wishes(2) == 0;
  world.wish.same_devices = WishSameDevices{"c", "gpu.example.com/rail"};
  world.devices = 1;
  for (WishNode& node : world.nodes)
    for (int device = 1 + below_of_wishes(6); device > 0; --device)
      node.rails.push_back(below_of_wishes(kRailsOfWishes));
  return world;
}

// The world in which nodes have no other devices.
WishWorld with_one_rail(WishWorld world, int rail) {
  for (WishNode& node : world.nodes)
    node.cpu = std::min(node.cpu, static_cast<int>(std::ranges::count(node.rails, rail)));
  return world;
}

// Members left out, and the wish that came true: what comes before the choice of a rail.
Worth without_parts(Worth worth) {
  worth.resize(2);
  return worth;
}

// Whether each value is in one piece.
bool are_runs(const std::vector<std::string>& values) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < values.size(); ++i)
    if ((i == 0 || values[i] != values[i - 1]) && !seen.insert(values[i]).second) return false;
  return true;
}

// Ranks are the numbers of the pods: neighbours share a domain of the parts, and a node.
bool are_ranks_contiguous(const GroupOutcome& outcome, const WishBench& bench, const WishWorld& world) {
  std::vector<std::string> domains, nodes;
  const std::optional<std::size_t> level = world.wish.segments ? std::optional(world.wish.segments->level)
                                           : world.wish.preferred.empty()
                                               ? std::nullopt
                                               : std::optional(world.wish.preferred.front());
  for (const MemberOutcome& member : outcome.members) {
    if (!member.node.valid()) continue;
    nodes.push_back(bench.cluster().node(member.node).name);
    const WishNode& node = world.nodes[static_cast<std::size_t>(std::stoi(nodes.back().substr(1)))];
    if (node.block.empty() || node.rack.empty()) continue;
    domains.push_back(level == kRackLevel ? node.block + "/" + node.rack : node.block);
  }
  return are_runs(nodes) && (!level || domains.size() < nodes.size() || are_runs(domains));
}

// The rail is the first by room with which as many members and as good a wish come true as with any; with
// this rail the parts are the best.
void compare_with_every_rail() {
  const WishWorld world = random_world_of_all_rules();
  std::optional<Worth> best;
  for (int rail = 0; rail < kRailsOfWishes; ++rail) {
    const WishWorld one = with_one_rail(world, rail);
    const std::optional<Worth> own = WishJudge(one).best();
    if (own && (!best || without_parts(*own) < *best)) best = without_parts(*own);
  }
  WishBench bench(world);
  const GroupOutcome outcome = bench.decide();
  RC_ASSERT((outcome.kind == GroupOutcome::Kind::Placed) == best.has_value());
  if (!best) return;
  if (outcome.wish->same_values.size() != 1)
    RC_FAIL(text_of_world(world) + ": no rail is reported for " + bench.nodes_of(outcome));
  const WishWorld one = with_one_rail(world, std::stoi(outcome.wish->same_values.front()));
  WishJudge judge(one);
  const std::optional<Worth> found = worth_of(outcome, bench, one, judge);
  if (without_parts(*found) != *best || found != judge.best())
    RC_FAIL(text_of_world(world) + ": found " + text_of(found) + " by " + bench.nodes_of(outcome) +
            ", best " + text_of(best) + "with any rail, " + text_of(judge.best()) + "with this one");
  if (world.wish.contiguous_ranks && !are_ranks_contiguous(outcome, bench, world))
    RC_FAIL(text_of_world(world) + ": ranks are not in one piece");
}

TEST(WishJudge, AllRulesOfOnePolicyHoldTogether) {
  EXPECT_TRUE(rc::check("as trying every rail and assignment", compare_with_every_rail));
}

TEST(WishJudge, MembersThatAreNotAlikeAreFoundAPlace) {
  EXPECT_TRUE(rc::check("as trying every assignment", compare_unlike_members));
}

TEST(WishJudge, EveryPlanIsTheBest) {
  EXPECT_TRUE(rc::check("as trying every assignment", compare_with_every_assignment));
}

}  // namespace
}  // namespace berth::placement
