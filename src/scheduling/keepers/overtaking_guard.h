// Bounded overtaking: an entry that lower priorities overtook for too long gets a reservation.
//
// A waiting entry is overtaken when an entry of lower priority is placed. `limit` later it gets a
// reservation: a hold on what it would take if no pod of lower priority ran (the scheduler finds it). It
// binds entries of lower priority until the entry is placed or gone, or kKeptMax has passed. A reservation
// that no pod leaves for kKeptStillMax is idle and helps nobody: it ends, no entry gets one for `limit`, and
// this entry must be overtaken twice as long before its next one. That one is searched on other nodes first,
// because the pods on the first nodes may never end. One entry at a time has a reservation: the highest
// priority first, then the one overtaken longest. Owner: the scheduler, one thread. Cost: O(log n) a call,
// amortized. Memory: proportional to entries that wait. Source: backfilling with a reservation for the head
// job (EASY); kube-scheduler has preemption instead.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "model/scoped_hold.h"
#include "scheduling/queue/scheduling_queue.h"

namespace berth::scheduling {

inline constexpr std::size_t kStarvingLooksMax = 64;  // entries visited in one search for a starving one
inline constexpr Duration kKeptMax = Duration::minutes(10);
inline constexpr Duration kKeptStillMax = Duration::minutes(2);
inline constexpr Duration kOvertakenMax = Duration::minutes(10);  // the bound of the doubled `limit`
inline constexpr std::size_t kNodesInVainMax = 1024;              // remembered for an entry

class OvertakingGuard {
 public:
  explicit OvertakingGuard(Duration limit) : limit_(limit) {}

  void refused(const EntityKey& key, std::int32_t priority);
  // The entry is placed or gone. True if this ended its reservation.
  bool forget(const EntityKey& key);
  // An entry of this priority was placed.
  void placed(std::int32_t priority, Time now);

  // The entry that gets the next reservation, if one is due and there is none.
  std::optional<EntityKey> starving(Time now) const;
  void keep(const EntityKey& key, model::ScopedHold hold, Time now);
  // Nodes that were reserved for the entry in vain; forgotten when it is placed or beyond kNodesInVainMax.
  std::span<const model::NodeId> in_vain_nodes(const EntityKey& key) const;
  // The next search covers all nodes again.
  void forget_in_vain_nodes(const EntityKey& key);
  // The entry would not fit even so: its time starts again when it is overtaken again.
  void give_up(const EntityKey& key);
  // A pod left the node.
  void freed(model::NodeId node, Time now);
  // True if the reservation ended because its time is over.
  bool expire(Time now);

  std::optional<Time> next_time() const;
  void clear();

 private:
  struct WaitingEntity {
    std::int32_t priority = 0;
    std::uint32_t in_vain = 0;  // reservations that ended unused
    Time starves_at;            // not set: not overtaken yet
    std::vector<model::NodeId> in_vain_nodes = {};
  };
  struct ActiveReservation {
    EntityKey key;
    model::ScopedHold hold;
    Time until, until_at_most;
  };
  // Highest priority first.
  using WaitingOrder = std::tuple<std::int64_t, Time, EntityKey>;
  static WaitingOrder place_of(const EntityKey& key, const WaitingEntity& waiting) {
    return {-std::int64_t{waiting.priority}, waiting.starves_at, key};
  }
  Duration limit_of(const WaitingEntity& waiting) const;

  Duration limit_;
  std::map<EntityKey, WaitingEntity> waiting_;
  std::set<WaitingOrder> not_overtaken_, overtaken_;
  std::optional<ActiveReservation> kept_;
  Time keeps_again_at_;  // after a reservation that ended unused
};

}  // namespace berth::scheduling
