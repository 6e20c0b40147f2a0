// Entities that wait for a decision: pods without a group, and groups, in the order of their attempts.
//
// Owner: the scheduler. Cost: O(log n) a call, `wake` O(unschedulable entries). Memory: proportional to
// waiting pods. Source: kube-scheduler's three queues: active, backoff (1 s doubling to 10 s), unschedulable
// (5-minute sweep).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "placement/cluster_events.h"
#include "placement/entity.h"

namespace berth::scheduling {

inline constexpr Duration kBackoffFirst = Duration::seconds(1);
inline constexpr Duration kBackoffMax = Duration::seconds(10);
inline constexpr Duration kUnschedulableMax = Duration::minutes(5);

using enum placement::ClusterEvent;
using placement::EntityKey;
using placement::EntityKind;
using placement::QueuedEntity;

// podInitialBackoffSeconds and podMaxBackoffSeconds of kube-scheduler.
struct QueueBackoff {
  Duration first = kBackoffFirst;
  Duration max = kBackoffMax;
};

class SchedulingQueue {
 public:
  explicit SchedulingQueue(QueueBackoff backoff = {}) : backoff_times_(backoff) {}

  // Makes a new entry active. A known entry keeps its place, except that a gated one is ungated. New entries
  // arrive in the order of the calls, here and below.
  void add(const EntityKey& key, std::int32_t priority, Time since);
  // Makes a new entry active after the backoff for `attempts` failures.
  void add_after_failures(const EntityKey& key, std::int32_t priority, Time since, std::uint32_t attempts,
                          Time now);
  // Gates the entry until add(): no attempt, no sweep.
  void gate(const EntityKey& key, std::int32_t priority, Time since);
  void erase(const EntityKey& key);

  // Removes and returns the next entry; entries whose backoff is over are active. If none is active, an
  // entry in a backoff that no error caused comes early.
  std::optional<QueuedEntity> pop(Time now);
  // Puts back an entry that fits nowhere: it waits for one of the events in `queueing_hints`, or for the
  // sweep.
  void put_unschedulable(QueuedEntity entry, std::uint32_t queueing_hints, Time now);
  // Puts back an entry after an error: it comes again after its backoff.
  void put_after_error(QueuedEntity entry, Time now);
  // Moves every unschedulable entry that waits for one of `events` out, after the rest of its backoff.
  void wake(std::uint32_t events, Time now);
  void wake_one(const EntityKey& key, Time now);

  // When pop() may next return an entry that it does not return now.
  std::optional<Time> next_time() const;
  bool contains(const EntityKey& key) const { return entries_.contains(key); }
  std::size_t active_count() const { return active_.size(); }
  std::size_t waiting_count() const { return backoff_.size() + unschedulable_.size(); }
  std::size_t backoff_count() const { return backoff_.size(); }
  std::size_t unschedulable_count() const { return unschedulable_.size(); }
  std::size_t gated_count() const { return entries_.size() - active_count() - waiting_count(); }

 private:
  const QueueBackoff backoff_times_;
  enum class SubQueue : std::uint8_t { Active, Backoff, ErrorBackoff, Unschedulable, Gated };
  struct QueuedSlot {
    QueuedEntity entry;
    SubQueue place = SubQueue::Active;
    std::uint32_t queueing_hints = 0;
    Time ready;  // end of the backoff or of the time in the unschedulable pool
    Time backoff_end;
  };
  struct Order {
    bool operator()(const QueuedEntity& a, const QueuedEntity& b) const { return queue_sort_less(a, b); }
  };
  using Deadline = std::pair<Time, EntityKey>;

  void place(QueuedSlot slot);
  void take_out(const QueuedSlot& slot);
  void let_out(const EntityKey& key, Time now);
  void advance(Time now);

  std::uint64_t arrivals_ = 0;
  std::map<EntityKey, QueuedSlot> entries_;
  std::set<QueuedEntity, Order> active_;
  std::set<Deadline> backoff_;  // both kinds of backoff
  std::set<Deadline> unschedulable_;
  std::map<std::uint32_t, std::size_t> hints_;  // of the unschedulable entries, with how many have them
};

Duration backoff_after(std::uint32_t attempts, QueueBackoff times = {});

}  // namespace berth::scheduling
