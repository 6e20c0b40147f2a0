// What waits for a decision: pods that stand alone and root groups, in the order they are to be tried.
//
// Owner: the scheduler. Cost: O(log n) a call, `wake` O(unschedulable entries). Memory: proportional to
// waiting pods. Source: kube-scheduler's three queues: active, backoff (1 s doubling to 10 s), unschedulable
// (5-minute sweep).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "scheduling/cluster_events.h"

namespace berth::scheduling {

inline constexpr Duration kBackoffFirst = Duration::seconds(1);
inline constexpr Duration kBackoffMax = Duration::seconds(10);
inline constexpr Duration kUnschedulableMax = Duration::minutes(5);

enum class EntryKind : std::uint8_t { Pod, Group };

struct EntryKey {
  std::string ns;
  std::string name;
  EntryKind kind = EntryKind::Pod;
  friend auto operator<=>(const EntryKey&, const EntryKey&) = default;
};

struct Entry {
  EntryKey key;
  std::int32_t priority = 0;
  Time since;  // enqueued first; the older entry goes first
  std::uint32_t attempts = 0;
};

class Queue {
 public:
  // Makes the entry active; a known one keeps its place, and is let out of the gate.
  void add(const EntryKey& key, std::int32_t priority, Time since);
  // Makes an entry that is not known active after a backoff: its latest `attempts` came to nothing.
  void add_after_failures(const EntryKey& key, std::int32_t priority, Time since, std::uint32_t attempts,
                          Time now);
  // Holds the entry back until `add`: no attempt, no sweep.
  void gate(const EntryKey& key, std::int32_t priority, Time since);
  void erase(const EntryKey& key);

  // The next entry to try, out of the queue; entries whose backoff is over count as active. When none is
  // active, an entry whose backoff is not due to an error comes early.
  std::optional<Entry> pop(Time now);
  // Back after an attempt that found no place: waits for one of `hints`, or for the sweep.
  void put_unschedulable(Entry entry, std::uint32_t hints, Time now);
  // Back after a failure that is not about room: comes again after its backoff.
  void put_after_error(Entry entry, Time now);
  // Back into the active queue at its old place.
  void put_active(Entry entry);
  // Lets every unschedulable entry that named one of `events` come again, after what is left of its backoff.
  void wake(std::uint32_t events, Time now);
  void wake_one(const EntryKey& key, Time now);

  // When `pop` may have something that it does not have now.
  std::optional<Time> next_time() const;
  bool contains(const EntryKey& key) const { return entries_.contains(key); }
  std::size_t active_count() const { return active_.size(); }
  std::size_t waiting_count() const { return backoff_.size() + unschedulable_.size(); }
  std::size_t backoff_count() const { return backoff_.size(); }
  std::size_t unschedulable_count() const { return unschedulable_.size(); }
  std::size_t gated_count() const { return entries_.size() - active_count() - waiting_count(); }

 private:
  enum class Place : std::uint8_t { Active, Backoff, ErrorBackoff, Unschedulable, Gated };
  struct Slot {
    Entry entry;
    Place place = Place::Active;
    std::uint32_t hints = 0;
    Time ready;  // end of the backoff, end of the stay in the unschedulable pool
    Time backoff_end;
  };
  struct Order {
    std::int32_t priority;
    Time since;
    EntryKey key;
    friend bool operator<(const Order& a, const Order& b) {
      if (a.priority != b.priority) return a.priority > b.priority;
      if (a.since != b.since) return a.since < b.since;
      return a.key < b.key;
    }
  };
  using Deadline = std::pair<Time, EntryKey>;

  static Order order_of(const Entry& entry) { return {entry.priority, entry.since, entry.key}; }
  void place(Slot slot);
  void take_out(const Slot& slot);
  void let_out(const EntryKey& key, Time now);
  void advance(Time now);

  std::map<EntryKey, Slot> entries_;
  std::set<Order> active_;
  std::set<Deadline> backoff_;  // both kinds of backoff
  std::set<Deadline> unschedulable_;
};

Duration backoff_after(std::uint32_t attempts);

}  // namespace berth::scheduling
