// Bounded overtaking: an entry that lower priorities have overtaken for too long gets room kept for it.
//
// A refused entry is overtaken once an entry of lower priority is placed while it waits. After `limit` of
// that, the nodes and devices on which it would stand if nothing of lower priority ran (the scheduler finds
// them) are kept: entries of lower priority stay away, until it is placed, is gone, or kKeptMax has passed.
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
#include "scheduling/queue.h"

namespace berth::scheduling {

inline constexpr std::size_t kStarvingLooksMax = 64;  // entries that one look for a starving one visits
inline constexpr Duration kKeptMax = Duration::minutes(10);

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
  void keep(const EntryKey& key, std::vector<model::NodeId> nodes, std::vector<model::DeviceId> devices,
            Time now);
  // It would not fit either way: its time starts again when it is overtaken again.
  void give_up(const EntryKey& key);
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
    Time overtaken_since;  // not set: not yet
  };
  struct Kept {
    EntryKey key;
    std::int32_t priority = 0;
    std::vector<model::NodeId> nodes;
    std::vector<model::DeviceId> devices;
    Time until;
  };
  // Highest priority first.
  using Place = std::tuple<std::int64_t, Time, EntryKey>;
  static Place place_of(const EntryKey& key, const Waiting& waiting) {
    return {-std::int64_t{waiting.priority}, waiting.overtaken_since, key};
  }

  Duration limit_;
  std::map<EntryKey, Waiting> waiting_;
  std::set<Place> not_overtaken_, overtaken_;
  std::optional<Kept> kept_;
};

}  // namespace berth::scheduling
