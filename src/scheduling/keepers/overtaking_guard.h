// Bounded overtaking: an entry that lower priorities or younger equals overtook for too long gets a
// reservation.
//
// A waiting entry is overtaken when an entry that is behind it in the order of the queue is placed. `limit`
// later it gets a reservation: a hold on what it would take if no pod of lower priority ran. Where equals
// overtook it, pods of its own priority are left out as well (the scheduler finds it). It binds the entries
// behind it until the entry is placed or gone, or kKeptMax has passed. A reservation that no pod leaves for
// kKeptStillMax helps nobody, so it ends. Then no entry gets one for `limit`, and this entry must be
// overtaken twice as long before its next one. That one is searched on other nodes first, because the pods on
// the first nodes may never end. One entry at a time has a reservation: the highest priority, then the one
// overtaken longest. Owner: the scheduler, one thread. Cost: O(log n) a call; a placement counts for the
// first kOvertakenAtOnceMax entries that it overtakes, the next one for those behind them. Memory:
// proportional to entries that wait.
//
// Where expected durations say when the room will be free, the reservation lasts until then, and entries that
// end before may use the room (backfill). It ends early for a starving entry of a higher priority. Source:
// backfilling with a reservation for the head job (EASY); kube-scheduler has preemption instead.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/scoped_hold.h"
#include "scheduling/queue/scheduling_queue.h"

namespace berth::scheduling {

inline constexpr std::size_t kOvertakenAtOnceMax = 4;  // entries that one placement counts for
inline constexpr std::size_t kStarvingLooksMax = 64;   // priorities visited in a search for a starving entry
inline constexpr Duration kKeptMax = Duration::minutes(10);
inline constexpr Duration kKeptStillMax = Duration::minutes(2);
inline constexpr Duration kOvertakenMax = Duration::minutes(10);  // the bound of the doubled `limit`
// A node that a pod left within this time is one that pods leave.
inline constexpr Duration kStreamWindow = Duration::minutes(2);
inline constexpr Duration kUsedFromMax = Duration::minutes(24 * 60);  // of a time that expected durations say
inline constexpr Duration kSearchPause = Duration::seconds(1);        // after a search that found no room
inline constexpr std::size_t kNodesLeftMax = std::size_t{1} << 17;    // remembered
inline constexpr std::size_t kNodesInVainMax = 1024;                  // remembered for an entry

class OvertakingGuard {
 public:
  explicit OvertakingGuard(Duration limit) : limit_(limit) {}

  void refused(const QueuedEntity& entry);
  // The entry is placed or gone. True if this ended its reservation.
  bool forget(const EntityKey& key);
  void placed(const QueuedEntity& entry, Time now);

  // The entry that gets the next reservation, if one is due and none is in its way.
  std::optional<QueuedEntity> starving(Time now) const;
  // `used_from`: when the room will be free, by expected durations; not set: nobody knows.
  void keep(const EntityKey& key, model::ScopedHold hold, Time used_from, Time now);
  // The reservation, if it is known that nobody uses it before some time.
  struct LaterUse {
    model::Ledger::HoldId hold;
    Time from;
  };
  std::optional<LaterUse> later_use() const;
  struct Kept {
    EntityKey key;
    model::HoldId hold;
    Time until;
  };
  // The reservation, if there is one.
  std::optional<Kept> kept() const {
    return kept_ ? std::optional(Kept{kept_->key, kept_->hold.id(), kept_->until}) : std::nullopt;
  }
  // Ends the reservation, if there is one, for a starving entry of a higher priority; its own entry starves
  // on.
  bool make_way() { return std::exchange(kept_, std::nullopt).has_value(); }
  // Nodes that were reserved for the entry in vain, ascending; forgotten when it is placed or beyond
  // kNodesInVainMax.
  std::span<const model::NodeId> in_vain_nodes(const EntityKey& key) const;
  bool overtaken_by_equals(const EntityKey& key) const;
  // Whether a pod left the node within kStreamWindow. Room against equals is kept on such nodes alone: where
  // pods do not end, it would be idle, and nobody have it.
  bool is_left_by_pods(model::NodeId node, Time now) const;
  // The hold that does not bind the entry although it has its priority: its own, or that of one behind it.
  std::optional<model::Ledger::HoldId> open_to(const QueuedEntity& entry) const;
  // The next search covers all nodes again.
  void forget_in_vain_nodes(const EntityKey& key);
  // The entry would not fit even so, or moves keep room for it: its time starts again when it is overtaken
  // again. The next search is kSearchPause later: many entries may wait in vain, and each search visits all
  // pods.
  void give_up(const EntityKey& key, Time now);
  // A pod left the node.
  void freed(model::NodeId node, Time now);
  // True if the reservation ended because its time is over.
  bool expire(Time now);

  std::optional<Time> next_time() const;
  void clear();

 private:
  struct WaitingEntity {
    QueuedEntity entry;
    bool by_equals = false;
    std::uint32_t in_vain = 0;  // reservations that ended unused
    Time starves_at;            // not set: not overtaken yet
    std::vector<model::NodeId> in_vain_nodes = {};
  };
  struct ActiveReservation {
    EntityKey key;
    model::ScopedHold hold;
    Time used_from, until, until_at_most;
  };
  // Highest priority first.
  using WaitingOrder = std::tuple<std::int64_t, Time, Time, std::uint64_t, EntityKey>;
  static WaitingOrder place_of(const QueuedEntity& entry, Time starves_at) {
    return {-std::int64_t{entry.priority}, starves_at, entry.since, entry.arrival, entry.key};
  }
  static WaitingOrder place_of(const WaitingEntity& waiting) {
    return place_of(waiting.entry, waiting.starves_at);
  }
  // Calls visit() with the entry of each priority that was overtaken first, the highest priority first, until
  // it returns false, the reservation is in the way, or kStarvingLooksMax were visited.
  template <class Visit>
  void visit_overtaken(Visit visit) const;
  void wait_again(const EntityKey& key);
  // The reservation is in the way of entries with this place and those after it. Only one with a known begin,
  // which may last long, makes way for higher priorities.
  bool is_in_the_way_of(const WaitingOrder& place) const;
  Duration limit_of(const WaitingEntity& waiting) const;

  Duration limit_;
  std::unordered_map<EntityKey, WaitingEntity, placement::EntityKeyHash> waiting_;
  std::map<WaitingOrder, WaitingEntity*> not_overtaken_, overtaken_;  // of waiting_
  std::optional<ActiveReservation> kept_;
  std::map<model::NodeId, Time> left_at_;  // by a pod, the last time
  Time keeps_again_at_;                    // after a reservation that ended unused
};

}  // namespace berth::scheduling
