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

struct KeptRoom {
  std::vector<model::NodeId> nodes;
  std::vector<model::DeviceId> devices;
};

class OvertakingGuard {
 public:
  explicit OvertakingGuard(Duration limit) : limit_(limit) {}

  void refused(const EntryKey& key, std::int32_t priority);
  // Placed or gone. True when room was kept for it and is free again.
  bool forget(const EntryKey& key);
  // An entry of this priority was placed.
  void placed(std::int32_t priority, Time now);

  // Who has been overtaken for `limit`, when nothing is kept.
  std::optional<EntryKey> starving(Time now) const;
  void keep(const EntryKey& key, KeptRoom room, Time now);
  // Where room was kept for the entry in vain, until it is placed or kNodesInVainMax is reached.
  std::span<const model::NodeId> in_vain_nodes(const EntryKey& key) const;
  // Room is looked for everywhere again.
  void forget_in_vain_nodes(const EntryKey& key);
  // It would not fit either way: its time starts again when it is overtaken again.
  void give_up(const EntryKey& key);
  // A pod left the node.
  void freed(model::NodeId node, Time now);
  // True when what was kept is free again because its time is over.
  bool expire(Time now);

  // What an entry of this priority stays away from.
  std::span<const model::NodeId> kept_nodes(std::int32_t priority) const;
  std::span<const model::DeviceId> kept_devices(std::int32_t priority) const;
  std::optional<EntryKey> kept_for() const;
  std::optional<Time> next_time() const;
  void clear();

 private:
  struct Waiting {
    std::int32_t priority = 0;
    std::uint32_t in_vain = 0;  // times that room was kept and given up
    Time starves_at;            // not set: not overtaken yet
    std::vector<model::NodeId> in_vain_nodes = {};
  };
  struct Kept {
    EntryKey key;
    std::int32_t priority = 0;
    KeptRoom room;
    Time until, until_at_most;
  };
  // Highest priority first.
  using Place = std::tuple<std::int64_t, Time, EntryKey>;
  static Place place_of(const EntryKey& key, const Waiting& waiting) {
    return {-std::int64_t{waiting.priority}, waiting.starves_at, key};
  }
  Duration limit_of(const Waiting& waiting) const;

  Duration limit_;
  std::map<EntryKey, Waiting> waiting_;
  std::set<Place> not_overtaken_, overtaken_;
  std::optional<Kept> kept_;
  Time keeps_again_at_;  // after room was kept in vain
};

}  // namespace berth::scheduling
