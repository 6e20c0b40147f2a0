// The keys to run: each once, never twice at a time, with backoff after failures and deadlines.
//
// Owner: one engine, on one thread. Cost: O(1) to add and take a key, O(log parked) for deadlines.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "api/kinds.h"

namespace berth::engine {

// For a key whose runs fail (base/backoff.h).
inline constexpr Duration kKeyBackoffBase = Duration::millis(10);
inline constexpr Duration kKeyBackoffCap = Duration::seconds(30);

enum class RunResult {
  Fine,
  Stale,   // the decision used an old state that has been read again: the first such run repeats at once
  Failed,  // repeats after the backoff
};

class WorkQueue {
 public:
  struct WorkKey {
    std::uint32_t reconciler = 0;
    api::ObjectKey key;
    friend bool operator==(const WorkKey&, const WorkKey&) = default;
  };
  struct State;
  using Entry = std::pair<const WorkKey, State>;
  using Deadlines = std::multimap<Time, Entry*>;
  struct State {
    bool queued = false;
    bool running = false;
    bool again = false;
    std::uint32_t failures = 0;
    std::optional<Deadlines::iterator> parked;
  };

  // Requests a run of the key. A running key runs once more afterwards.
  void add(std::uint32_t reconciler, api::ObjectKey key);
  // Queues every key whose deadline has come.
  void wake_due(Time now);
  // The oldest waiting key, now running; null when none waits. Valid until done().
  Entry* take();
  // Ends a run. `wake_at` parks the key until then.
  void done(Entry* entry, RunResult result, std::optional<Time> wake_at, Time now);

  // Drops every key that is not running; running ones do not run again.
  void clear();

  bool ready() const { return !queue_.empty(); }
  // Keys that wait, run or are parked.
  std::size_t size() const { return entries_.size(); }
  std::size_t waiting() const { return queue_.size(); }
  std::size_t running() const { return running_; }
  std::optional<Time> next_wake() const;

 private:
  struct Hash {
    // Not noexcept: libstdc++ then keeps hashes with keys and does not compute those of neighbours again.
    std::size_t operator()(const WorkKey& key) const;
  };
  void enqueue(Entry& entry);
  void unpark(Entry& entry);

  std::unordered_map<WorkKey, State, Hash> entries_;
  std::deque<Entry*> queue_;
  Deadlines deadlines_;
  std::size_t running_ = 0;
};

}  // namespace berth::engine
