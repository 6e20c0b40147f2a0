// When writes to objects are due: each once, again after a failure with backoff, never two to one object at a
// time. Knows nothing of what is written.
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
  // Due now, or once the write that is under way is answered.
  void want(const api::ObjectKey& key, Time now);
  void erase(const api::ObjectKey& key);
  bool empty() const { return entries_.empty(); }

  // A key that is due: its write is under way from here on, unless it is erased.
  std::optional<api::ObjectKey> next(Time now);
  // Due again: at once when it was accepted, for its owner to look. False when no write to the key is under
  // way.
  bool write_done(const api::ObjectKey& key, bool ok, Time now);
  std::optional<Time> next_time() const;

 private:
  struct WriteState {
    Time due;  // also while the write is under way: then it is looked at once it is answered
    std::uint32_t failures = 0;
    bool under_way = false;
  };
  void schedule(const api::ObjectKey& key, WriteState& state, Time at);

  std::map<api::ObjectKey, WriteState> entries_;
  std::set<std::pair<Time, api::ObjectKey>> due_;  // of entries without a write under way
};

}  // namespace berth::scheduling
