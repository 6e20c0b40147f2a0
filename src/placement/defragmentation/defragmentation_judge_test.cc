// The search for moves against judges that try every set of racks, on small random worlds where counts
// decide; and what holds of every plan, replayed move by move.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "placement/defragmentation/test_fleet.h"
#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

struct RackCounts {
  int used = 0, fixed = 0;
};

std::vector<RackCounts> rack_counts(const Fleet& fleet) {
  std::vector<RackCounts> racks(static_cast<std::size_t>(fleet.racks));
  for (const FleetPod& pod : fleet.pods) {
    RackCounts& rack = racks[static_cast<std::size_t>(pod.node / fleet.nodes)];
    rack.used += pod.devices;
    rack.fixed += pod.owner.empty() ? 1 : 0;
  }
  return racks;
}

int devices_of_rack(const Fleet& fleet) {
  return fleet.nodes * fleet.devices;
}

// Pods of one device, of which some nobody makes again.
Fleet random_fleet() {
  Fleet fleet;
  fleet.racks = 2 + random_below(4);
  fleet.nodes = 1 + random_below(2);
  fleet.devices = 1 + random_below(3);
  fleet.claims = one_in(4);
  for (int node = 0; node < fleet.racks * fleet.nodes; ++node) {
    const int used = random_below(fleet.devices + 1);
    for (int i = 0; i < used; ++i) {
      FleetPod pod{.node = node};
      if (one_in(10)) pod.owner.clear();
      fleet.pods.push_back(std::move(pod));
    }
  }
  fleet.limits.ratio_min = 0;
  fleet.limits.moves_max = static_cast<std::size_t>(1 + random_below(8));
  return fleet;
}

// Racks made whole, and minus the moves that this takes.
using Emptied = std::pair<int, int>;

Emptied best_by_trying_all(const Fleet& fleet) {
  const std::vector<RackCounts> racks = rack_counts(fleet);
  Emptied best{0, 0};
  for (std::size_t set = 1; set < std::size_t{1} << racks.size(); ++set) {
    int moves = 0, free = 0, count = 0;
    bool allowed = true;
    for (std::size_t at = 0; at < racks.size(); ++at) {
      const RackCounts& rack = racks[at];
      if ((set >> at & 1) != 0) {
        allowed &= rack.used > 0 && rack.fixed == 0;
        moves += rack.used;
        ++count;
      } else if (rack.used > 0) {
        free += devices_of_rack(fleet) - rack.used;
      }
    }
    if (allowed && moves <= free && moves <= static_cast<int>(fleet.limits.moves_max))
      best = std::max(best, {count, -moves});
  }
  return best;
}

TEST(DefragmentationJudge, EmptiesAsManyRacksAsAnySetWithAsFewMoves) {
  rc::check([] {
    const Fleet fleet = random_fleet();
    FleetBench bench(fleet);
    const DefragmentationPlan plan = bench.find();
    Emptied found{0, 0};
    for (const DefragmentedDomain& domain : plan.domains) {
      RC_ASSERT(domain.whole);
      found.first += 1;
      found.second -= static_cast<int>(domain.moves.size());
    }
    RC_LOG() << bench.text(plan);
    RC_ASSERT(found == best_by_trying_all(fleet));
    RC_ASSERT(plan.whole_after == plan.whole_before + plan.domains.size());
    RC_ASSERT(!plan.ended);
  });
}

// The fewest moves after which one rack has a device for each member; 0: there are none.
int fewest_for_gang(const Fleet& fleet) {
  const std::vector<RackCounts> racks = rack_counts(fleet);
  int best = 0;
  for (std::size_t at = 0; at < racks.size(); ++at) {
    const int lacking = fleet.waiting - (devices_of_rack(fleet) - racks[at].used);
    int elsewhere = 0;
    for (std::size_t other = 0; other < racks.size(); ++other)
      if (other != at && racks[other].used > 0) elsewhere += devices_of_rack(fleet) - racks[other].used;
    const int movable = racks[at].used - racks[at].fixed;
    if (lacking > movable || lacking > elsewhere || lacking > static_cast<int>(fleet.limits.moves_max))
      continue;
    if (best == 0 || lacking < best) best = lacking;
  }
  return best;
}

TEST(DefragmentationJudge, MakesRoomForAGangWithTheFewestMoves) {
  rc::check([] {
    Fleet fleet = random_fleet();
    fleet.waiting = 1 + random_below(devices_of_rack(fleet));
    FleetBench bench(fleet);
    RC_PRE(!bench.gang_fits());
    const DefragmentationPlan plan = bench.find();
    RC_LOG() << bench.text(plan);
    const int fewest = fewest_for_gang(fleet);
    if (fewest == 0) {
      RC_ASSERT(std::ranges::all_of(plan.domains, [](const auto& domain) { return domain.fits.empty(); }));
      return;
    }
    RC_ASSERT(!plan.domains.empty());
    RC_ASSERT(plan.domains.front().fits.size() == 1);
    RC_ASSERT(plan.domains.front().fits.front().waiting == 0);
    RC_ASSERT(static_cast<int>(plan.domains.front().moves.size()) == fewest);
  });
}

// Pods of one or two devices, some with a budget, some in a gang, some of which the cluster goes on without.
Fleet random_rich_fleet() {
  Fleet fleet = random_fleet();
  fleet.devices = 2 + random_below(2);
  fleet.pods.clear();
  fleet.permitted = random_below(3);
  fleet.minimum = 1 + random_below(3);
  fleet.as_one = one_in(3);
  for (int node = 0; node < fleet.racks * fleet.nodes; ++node)
    for (int left = fleet.devices; left > 0 && !one_in(3);) {
      FleetPod pod{.node = node, .devices = 1 + random_below(left)};
      pod.guarded = one_in(3);
      pod.in_group = one_in(3);
      if (one_in(12)) pod.owner.clear();
      left -= pod.devices;
      fleet.pods.push_back(std::move(pod));
    }
  if (one_in(2)) fleet.waiting = 1 + random_below(devices_of_rack(fleet));
  return fleet;
}

// Carries the moves out by plain sums.
class FleetReplay {
 public:
  FleetReplay(const Fleet& fleet, const FleetBench& bench) : fleet_(fleet), bench_(bench) {
    for (const FleetPod& pod : fleet.pods) {
      where_.push_back(pod.node);
      members_ += pod.in_group ? 1 : 0;
    }
  }

  void carry_out(const DefragmentedDomain& domain) {
    for (std::size_t at = 0; at < domain.moves.size();) {
      std::size_t end = at + 1;
      while (domain.moves[at].with_group && end < domain.moves.size() && domain.moves[end].with_group) ++end;
      carry_out(std::span(domain.moves).subspan(at, end - at), domain.path);
      at = end;
    }
    if (!domain.whole) return;
    for (const int node : where_) RC_ASSERT(rack_of(node) != domain.path);
  }

 private:
  std::string rack_of(int node) const { return "r" + std::to_string(node / fleet_.nodes); }
  static int number(const std::string& name) { return std::stoi(name.substr(1)); }
  int node_of(NodeId node) const { return number(bench_.bench.cluster.node(node).name); }

  void carry_out(std::span<const PodMove> moves, const std::string& emptied) {
    for (const PodMove& move : moves) {
      const auto pod = static_cast<std::size_t>(number(bench_.name(move.pod)));
      const FleetPod& one = fleet_.pods[pod];
      RC_ASSERT(where_[pod] == node_of(move.from));
      RC_ASSERT(!one.owner.empty());
      RC_ASSERT(moved_.insert(pod).second);
      guarded_ += one.guarded ? 1 : 0;
      gone_ += one.in_group ? 1 : 0;
      RC_ASSERT(move.devices == one.devices);
      RC_ASSERT(move.with_group == (one.in_group && fleet_.as_one));
      where_[pod] = node_of(move.to);
      RC_ASSERT(rack_of(where_[pod]) != emptied);
    }
    RC_ASSERT(guarded_ <= fleet_.permitted);
    if (!fleet_.as_one && gone_ > 0) RC_ASSERT(members_ - gone_ >= fleet_.minimum);
    std::map<int, int> used;
    for (std::size_t pod = 0; pod < fleet_.pods.size(); ++pod) used[where_[pod]] += fleet_.pods[pod].devices;
    for (const auto& [node, devices] : used) RC_ASSERT(devices <= fleet_.devices);
  }

  const Fleet& fleet_;
  const FleetBench& bench_;
  std::vector<int> where_;  // node of each pod
  std::set<std::size_t> moved_;
  int members_ = 0, gone_ = 0, guarded_ = 0;
};

TEST(DefragmentationJudge, EveryMoveIsPossibleInItsTurn) {
  rc::check([] {
    const Fleet fleet = random_rich_fleet();
    FleetBench bench(fleet);
    if (fleet.waiting > 0) RC_PRE(!bench.gang_fits());
    const std::string before = bench.bench.cluster.to_text();
    const DefragmentationPlan plan = bench.find();
    RC_LOG() << bench.text(plan);
    FleetReplay replay(fleet, bench);
    std::size_t moves = 0;
    for (const DefragmentedDomain& domain : plan.domains) {
      replay.carry_out(domain);
      moves += domain.moves.size();
    }
    RC_ASSERT(moves <= fleet.limits.moves_max);
    RC_ASSERT(bench.bench.cluster.to_text() == before);
    RC_ASSERT(bench.text(bench.find()) == bench.text(plan));
  });
}

}  // namespace
}  // namespace berth::placement
