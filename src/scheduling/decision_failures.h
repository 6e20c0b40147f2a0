// How often decisions of an entry came to nothing lately: what its backoff follows from.
//
// The first failure costs nothing, for another place may do, unless the pod is told of it: that stands for as
// long as kube-scheduler would leave it. Who fails again and again (a binder that does
// not see yet what the scheduler sees, an API server that refuses) waits longer each time. Owner: the
// scheduler, one thread. Cost: O(log n), amortized. Memory: entries that failed within kFailuresForgotten.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "scheduling/scheduling_queue.h"

namespace berth::scheduling {

inline constexpr Duration kFailuresForgotten = Duration::seconds(60);

class DecisionFailures {
 public:
  enum class Kind : std::uint8_t { Silent, Told };
  // A decision counts once, however many of its members fail; again when a member fails that has joined it
  // once more.
  void note(const EntityKey& key, const std::string& decision, const std::string& pod_uid, Kind kind,
            Time now);
  void forget(const EntityKey& key) { failed_.erase(key); }
  // Failures behind the first silent one; 0: none that should be waited for.
  std::uint32_t repeated(const EntityKey& key, Time now) const;

 private:
  struct FailureCount {
    std::string decision;
    std::uint32_t count = 0;
    Time latest;
    std::set<std::string, std::less<>> pod_uids;  // that have failed since it was last counted
  };
  std::map<EntityKey, FailureCount> failed_;
  std::deque<std::pair<Time, EntityKey>> noted_;  // by time
};

}  // namespace berth::scheduling
