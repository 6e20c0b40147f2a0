// Entities that wait for a decision: pods without a group, and groups, in the order of their attempts.
//
// Owner: the scheduler. Cost: look-ups O(1), changes O(log n), `wake` O(rows that the change concerns).
// Memory: proportional to waiting pods. Source: kube-scheduler's three queues: active, backoff (1 s doubling
// to 10 s), unschedulable (5-minute sweep).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "scheduling/queue/queue_figures.h"
#include "scheduling/queue/waiting_rows.h"

namespace berth::scheduling {

inline constexpr Duration kBackoffFirst = Duration::seconds(1);
inline constexpr Duration kBackoffMax = Duration::seconds(10);
inline constexpr Duration kUnschedulableMax = Duration::minutes(5);
// The sweep waits until nothing is active, so that new entries are not behind thousands of old ones; at most
// this long.
inline constexpr Duration kSweepDelayMax = Duration::minutes(1);

using enum placement::ClusterEvent;
using placement::EntityKind;

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
  // Puts back an entry that fits nowhere: it waits for a change that its hints name, or for the sweep.
  void put_unschedulable(QueuedEntity entry, placement::WaitsFor waits_for, Time now);
  // Puts back an entry after an error: it comes again after its backoff.
  void put_after_error(QueuedEntity entry, Time now);
  // Moves the first entry of every row that waits for one of `events` out, after the rest of its backoff.
  // The next one of the row follows, unless the same answer comes back.
  void wake(std::uint32_t events, Time now);
  // The same for one change, whose facts are these; reads_facts_of() says whether they matter.
  bool reads_facts_of(std::uint32_t event) const { return rows_.reads_facts_of(event); }
  void wake(std::uint32_t event, const placement::ChangeFacts& facts, Time now);
  void wake_one(const EntityKey& key, Time now);

  // Entries that were refused and wait, in the order of the queue: at most so many.
  std::vector<QueuedEntity> refused(std::size_t entries_max) const;
  // When pop() may next return an entry that it does not return now.
  std::optional<Time> next_time() const;
  bool contains(const EntityKey& key) const { return entries_.contains(key); }
  std::size_t active_count() const { return active_.size(); }
  std::size_t waiting_count() const { return backoff_.size() + unschedulable_.size(); }
  std::size_t backoff_count() const { return backoff_.size(); }
  std::size_t unschedulable_count() const { return unschedulable_.size(); }
  const QueueFigures& figures() const { return figures_; }
  std::size_t gated_count() const { return entries_.size() - active_count() - waiting_count(); }

 private:
  const QueueBackoff backoff_times_;
  enum class SubQueue : std::uint8_t { Active, Backoff, ErrorBackoff, Unschedulable, Gated };
  struct QueuedSlot {
    QueuedEntity entry;
    SubQueue place = SubQueue::Active;
    Time ready;  // end of the backoff, where there is one
    Time backoff_end = {};
    Time sweep_at = {};
    RowId row = kNoRow;          // that it waits in, or is the head of
    std::uint64_t swept_at = 0;  // wakes_ when the sweep let it out; 0: it did not
  };
  using Deadline = std::pair<Time, EntityKey>;

  void place(QueuedSlot slot);
  // Puts the slot of entries_ into the lists of its place, and out of them.
  void list(const QueuedSlot& slot);
  void take_out(const QueuedSlot& slot);
  // Returns where it is now.
  IncomingQueue let_out(QueuedSlot& slot, Time now, RowId head_of = kNoRow);
  std::optional<IncomingQueue> let_next_out(RowId row, Time now);
  void let_rows_out(const std::vector<RowId>& rows, std::uint32_t events, Time now);
  void activate(QueuedSlot& slot);
  void advance(Time now);
  void sweep(Time now);

  std::uint64_t arrivals_ = 0;
  std::uint64_t wakes_ = 1;  // calls of wake()
  QueueFigures figures_;
  std::unordered_map<EntityKey, QueuedSlot, placement::EntityKeyHash> entries_;
  std::set<QueuedEntity, QueueOrder> active_;
  std::set<Deadline> backoff_;        // both kinds of backoff
  std::set<Deadline> unschedulable_;  // by the time of the sweep
  WaitingRows rows_;
  std::set<RowId> unanswered_;  // the head left, and no entry of the row was refused since
};

Duration backoff_after(std::uint32_t attempts, QueueBackoff times = {});

}  // namespace berth::scheduling
