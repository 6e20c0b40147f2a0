#include "placement/defragmentation/room_search.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "placement/preemption/victim_units.h"

namespace berth::placement {
namespace {

using UnitIndices = std::vector<std::size_t>;

std::size_t pods_of_units(const std::vector<MoveUnit>& units) {
  return std::accumulate(units.begin(), units.end(), std::size_t{0},
                         [](std::size_t sum, const MoveUnit& unit) { return sum + unit.pods.size(); });
}

// Whether all its pods must be in one domain of the level.
bool is_in_one_domain(const WaitingEntity& waiting, const std::string& level) {
  const auto requires_level = [&](const std::vector<std::string>& keys, const GroupWish* wish) {
    if (std::ranges::find(keys, level) != keys.end()) return true;
    return wish && wish->required && wish->levels[*wish->required].key == level;
  };
  if (const auto* group = std::get_if<GroupInput>(&waiting.input))
    return group->placed.empty() && requires_level(group->group->topology_keys, group->wish.get());
  if (const auto* tree = std::get_if<TreeInput>(&waiting.input))
    return requires_level(tree->nodes.front().topology_keys(), tree->nodes.front().own_wish());
  return true;
}

}  // namespace

// 0: that is not known.
std::int64_t RoomSearch::needed_in_one(const WaitingEntity& waiting) const {
  if (!is_in_one_domain(waiting, question_.level.back())) return 0;
  const client::View& view = question_.context.view;
  if (const auto* pod = std::get_if<const api::Pod*>(&waiting.input)) return counts_.asked(view, **pod);
  const auto* group = std::get_if<GroupInput>(&waiting.input);
  if (!group || group->waiting.empty()) return 0;
  // The smallest members, as many as have to be placed.
  std::vector<std::int64_t> devices;
  for (const api::Pod* pod : group->waiting) devices.push_back(counts_.asked(view, *pod));
  std::ranges::sort(devices);
  const auto needed = static_cast<std::size_t>(
      std::clamp<std::int64_t>(group->group->minimum(), 1, static_cast<std::int64_t>(devices.size())));
  return std::accumulate(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(needed),
                         std::int64_t{0});
}

std::vector<RoomSearch::Candidate> RoomSearch::candidates(const WaitingEntity& waiting,
                                                          std::size_t moves_max) const {
  const std::int64_t needed = needed_in_one(waiting);
  const std::vector<DomainRow>& rows = rows_.rows();
  std::vector<Candidate> found;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const DomainRow& row = rows[at];
    if (row.settled || row.moves == 0 || row.free() + row.moved < needed) continue;
    const std::int64_t lacking = std::max<std::int64_t>(0, needed - row.free());
    const auto bound = static_cast<std::size_t>((lacking + row.largest - 1) / row.largest);
    if (bound <= moves_max) found.push_back({std::max<std::size_t>(1, bound), row.free(), at});
  }
  std::ranges::sort(found, {},
                    [](const Candidate& one) { return std::tuple(one.bound, -one.free, one.row); });
  return found;
}

std::optional<RoomFound> RoomSearch::find(const WaitingEntity& waiting, std::size_t moves_max) {
  std::optional<RoomFound> best;
  std::size_t tried = 0;
  for (const Candidate& one : candidates(waiting, moves_max)) {
    const std::size_t most = best ? best->moves - 1 : moves_max;
    if (one.bound > most) break;
    if (tried++ >= kRoomDomainsTriedMax) {
      ended_ = true;
      break;
    }
    if (auto found = room_in(one.row, waiting, most)) best = std::move(found);
  }
  return best;
}

bool RoomSearch::fits_without(const std::vector<MoveUnit>& units, const UnitIndices& removed,
                              const WaitingEntity& waiting) {
  ++decisions_;
  const PodMover::Mark before = mover_.mark();
  for (const std::size_t at : removed) mover_.remove(units[at].pods);
  const bool fits = mover_.place(waiting).has_value();
  mover_.undo(before);
  return fits;
}

// Of the units that may leave; none: it does not fit even without all of them.
std::vector<MoveUnit> RoomSearch::fewest(const std::vector<MoveUnit>& units, const WaitingEntity& waiting) {
  UnitIndices all(units.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (!fits_without(units, all, waiting)) return {};
  UnitIndices order = all;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto turn = [&](std::size_t at) {
      const auto pods = static_cast<std::int64_t>(units[at].pods.size());
      return std::tuple(-pods, units[at].devices, -static_cast<std::int64_t>(at));
    };
    return turn(a) < turn(b);
  });
  const UnitIndices removed = reprieve(
      all, order, [&](const UnitIndices& without) { return fits_without(units, without, waiting); },
      [&](const UnitIndices&) {
        const bool goes_on = decisions_ < kRoomDecisionsMax;
        ended_ |= !goes_on;
        return goes_on;
      });
  std::vector<MoveUnit> leaving;
  for (const std::size_t at : removed) leaving.push_back(units[at]);
  return leaving;
}

// The pod that finds no other node; none() where the entity does not fit then. Nothing: all is well.
std::optional<PodId> RoomSearch::try_moves(RoomFound& found, const WaitingEntity& waiting) {
  const PodMover::Mark before = mover_.mark();
  std::optional<PodId> trouble;
  found.moved = 0;
  for (const MoveUnit& unit : found.units) {
    const auto moved = mover_.move(unit, found.avoid);
    if (std::holds_alternative<StayingPod>(moved)) {
      trouble = unit.pods.front();
      break;
    }
    found.moved += unit.devices;
  }
  if (!trouble) {
    const std::optional<PodMover::Placed> placed = mover_.place(waiting);
    found.gained = placed ? placed->devices : 0;
    if (!placed) trouble = PodId::none();
  }
  mover_.undo(before);
  return trouble;
}

std::optional<RoomFound> RoomSearch::room_in(std::size_t row, const WaitingEntity& waiting,
                                             std::size_t moves_max) {
  decisions_ = 0;
  std::vector<MoveUnit> units = mover_.units_on(rows_.rows()[row].nodes).movable;
  std::vector<std::size_t> emptied = spared_;
  emptied.push_back(row);
  for (std::size_t turn = 0; turn <= kRoomRetriesMax; ++turn) {
    RoomFound found;
    found.row = row;
    found.units = fewest(units, waiting);
    found.moves = pods_of_units(found.units);
    if (found.units.empty() || found.moves > moves_max) return std::nullopt;
    found.avoid = rows_.avoided(emptied);
    std::optional<PodId> trouble = try_moves(found, waiting);
    if (trouble && !spared_.empty()) {
      found.avoid = rows_.avoided({&row, 1});
      trouble = try_moves(found, waiting);
    }
    if (!trouble) return found;
    if (!trouble->valid()) return std::nullopt;
    std::erase_if(units, [&](const MoveUnit& unit) { return unit.pods.front() == *trouble; });
  }
  ended_ = true;
  return std::nullopt;
}

}  // namespace berth::placement
