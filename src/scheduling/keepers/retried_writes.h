// When writes to objects are due: once each, again after a failure with backoff, never two to one object at
// a time. It does not hold the writes themselves.
//
// Owner: one decider, one thread. Cost: O(log n) a call. Memory: proportional to the keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/kinds.h"
#include "base/time.h"

namespace berth::scheduling {

inline constexpr Duration kRetriedWriteFirst = Duration::millis(200);
inline constexpr Duration kRetriedWriteMax = Duration::seconds(10);

class RetriedWrites {
 public:
  // Makes the key due now, or when the write that is under way is answered.
  void want(const api::ObjectKey& key, Time now);
  void erase(const api::ObjectKey& key);
  bool empty() const { return entries_.empty(); }

  // Returns a key that is due; its write then counts as under way until write_done() or erase().
  std::optional<api::ObjectKey> next(Time now);
  // Makes the key due again: at once after an accepted write, so that its owner checks the result; otherwise
  // after a backoff. False if no write to the key was under way.
  bool write_done(const api::ObjectKey& key, bool ok, Time now);
  std::optional<Time> next_time() const;

 private:
  struct WriteState {
    Time due;  // kept while the write is under way
    std::uint32_t failures = 0;
    bool under_way = false;
  };
  void schedule(const api::ObjectKey& key, WriteState& state, Time at);

  std::map<api::ObjectKey, WriteState> entries_;
  std::set<std::pair<Time, api::ObjectKey>> due_;  // keys without a write under way
};

}  // namespace berth::scheduling
