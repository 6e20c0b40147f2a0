// The part of Scheduler that knows from expected durations when room will be free, and who ends before.
#include <algorithm>
#include <tuple>

#include "placement/expected_duration.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

// Pods that one search for the earliest room removes, over all its attempts.
constexpr std::size_t kEndsLookedAtMax = 400'000;

}  // namespace

// Pods below `bound` that have a place and an end that somebody expects, the earliest end first, then by
// name. One that should have ended already may end now.
std::vector<Scheduler::KnownEnd> Scheduler::known_ends(const SchedulingContext& context,
                                                       std::int64_t bound) const {
  std::vector<KnownEnd> ends;
  for (const api::Pod* pod : placed_pods()) {
    if (pod->priority >= bound) continue;
    const std::optional<Duration> runs = placement::expected_duration(context.view, *pod);
    if (!runs) continue;
    const Time from = pod->started.is_set() ? pod->started : context.now;
    ends.push_back({std::max(from + *runs, context.now), pod});
  }
  std::ranges::sort(
      ends, {}, [](const KnownEnd& end) { return std::tie(end.at, end.pod->meta.ns, end.pod->meta.name); });
  return ends;
}

// The room that is free first if pods end as expected and no other pod ends. Nothing: expected ends alone do
// not suffice. Cost: O(log ends) searches of a place.
Scheduler::RoomInTime Scheduler::find_earliest_room(const SchedulingContext& context,
                                                    const QueuedEntity& entry) {
  const bool removes_equals = loop_.overtaking.overtaken_by_equals(entry.key);
  const std::vector<KnownEnd> ends =
      known_ends(context, std::int64_t{entry.priority} + (removes_equals ? 1 : 0));
  if (ends.empty()) return {};
  const std::span<const model::NodeId> in_vain = loop_.overtaking.in_vain_nodes(entry.key);
  const auto room_after_first = [&](std::size_t count) {
    return room_after(context, entry, in_vain, [&](model::Ledger::Transaction& transaction) {
      for (std::size_t i = 0; i < count; ++i)
        remove_placed(*ends[i].pod, model::GroupClaims::Kept, transaction);
      remove_idle_reservation_pods(model::GroupClaims::Kept, transaction);
    });
  };
  std::size_t too_few = 0, enough = ends.size(), looked_at = ends.size();
  RoomInTime found{room_after_first(enough), ends.back().at};
  if (found.room.places.empty()) return {};
  while (too_few + 1 < enough && looked_at < kEndsLookedAtMax) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    looked_at += middle;
    if (model::Hold room = room_after_first(middle); room.places.empty()) {
      too_few = middle;
    } else {
      enough = middle;
      found = {std::move(room), ends[enough - 1].at};
    }
  }
  return found;
}

// The hold that does not bind these pods, because they end before anybody uses its room.
std::optional<model::Ledger::HoldId> Scheduler::backfilled_by(const SchedulingContext& context,
                                                              std::span<const api::Pod* const> pods) const {
  const std::optional<OvertakingGuard::LaterUse> later = loop_.overtaking.later_use();
  if (!later) return std::nullopt;
  const bool all_end_before = std::ranges::all_of(pods, [&](const api::Pod* pod) {
    const std::optional<Duration> runs = placement::expected_duration(context.view, *pod);
    return runs && context.now + *runs <= later->from;
  });
  return all_end_before ? std::optional(later->hold) : std::nullopt;
}

}  // namespace berth::scheduling
