// Bounded overtaking: an entry that lower priorities have overtaken for too long gets room kept for it.
//
// A refused entry is overtaken once an entry of lower priority is placed while it waits. After `limit` of
// that, the nodes and devices on which it would stand if nothing of lower priority ran (the scheduler finds
// them) are kept: entries of lower priority stay away, until it is placed, is gone, or kKeptMax has passed.
// Room that nothing leaves for kKeptStillMax would stand idle and help nobody: it is given up, for `limit` no
// room is kept, and the entry must be overtaken twice as long before the next time. Then room is looked for
// on other nodes first: what runs on those may run for ever.
// One entry at a time, the highest priority first, then the one overtaken longest. Owner: the scheduler, one
// thread. Cost: O(log n) a call, amortized. Memory: proportional to entries that wait. Source: backfilling
// with a reservation for the head job (EASY); kube-scheduler has nothing like it without preemption.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "model/ids.h"
#include "scheduling/scheduling_queue.h"

namespace berth::scheduling {

inline constexpr std::size_t kStarvingLooksMax = 64;  // entries that one look for a starving one visits
inline constexpr Duration kKeptMax = Duration::minutes(10);
inline constexpr Duration kKeptStillMax = Duration::minutes(2);
inline constexpr Duration kOvertakenMax = Duration::minutes(10);  // however often room was kept in vain
inline constexpr std::size_t kNodesInVainMax = 1024;              // remembered for an entry

struct BackfillReservation {
  std::vector<model::NodeId> nodes;
  std::vector<model::DeviceId> devices;
};

class OvertakingGuard {
 public:
  explicit OvertakingGuard(Duration limit) : limit_(limit) {}

  void refused(const EntityKey& key, std::int32_t priority);
  // Placed or gone. True when room was kept for it and is free again.
  bool forget(const EntityKey& key);
  // An entry of this priority was placed.
  void placed(std::int32_t priority, Time now);

  // Who has been overtaken for `limit`, when nothing is kept.
  std::optional<EntityKey> starving(Time now) const;
  void keep(const EntityKey& key, BackfillReservation room, Time now);
  // Where room was kept for the entry in vain, until it is placed or kNodesInVainMax is reached.
  std::span<const model::NodeId> in_vain_nodes(const EntityKey& key) const;
  // Room is looked for everywhere again.
  void forget_in_vain_nodes(const EntityKey& key);
  // It would not fit either way: its time starts again when it is overtaken again.
  void give_up(const EntityKey& key);
  // A pod left the node.
  void freed(model::NodeId node, Time now);
  // True when what was kept is free again because its time is over.
  bool expire(Time now);

  // What an entry of this priority stays away from.
  std::span<const model::NodeId> kept_nodes(std::int32_t priority) const;
  std::span<const model::DeviceId> kept_devices(std::int32_t priority) const;
  std::optional<Time> next_time() const;
  void clear();

 private:
  struct WaitingEntity {
    std::int32_t priority = 0;
    std::uint32_t in_vain = 0;  // times that room was kept and given up
    Time starves_at;            // not set: not overtaken yet
    std::vector<model::NodeId> in_vain_nodes = {};
  };
  struct ActiveReservation {
    EntityKey key;
    std::int32_t priority = 0;
    BackfillReservation room;
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
  Time keeps_again_at_;  // after room was kept in vain
};

}  // namespace berth::scheduling
