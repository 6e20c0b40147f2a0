// How often decisions of an entry failed lately; its backoff follows from that.
//
// The first silent failure causes no backoff, because another node may work. A failure that the pod's
// condition reports causes one, so that the condition stays as long as kube-scheduler's would. Each repeated
// failure (the binder's view lags, the API server refuses) doubles the wait. Owner: the scheduler, one
// thread. Cost: O(log n), amortized. Memory: entries that failed within kFailuresForgotten.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "scheduling/queue/scheduling_queue.h"

namespace berth::scheduling {

inline constexpr Duration kFailuresForgotten = Duration::seconds(60);

class DecisionFailures {
 public:
  enum class Kind : std::uint8_t { Silent, Told };
  // Counts a decision once, however many of its members fail; again when a member fails that has joined it
  // once more.
  void note(const EntityKey& key, const std::string& decision, const std::string& pod_uid, Kind kind,
            Time now);
  void forget(const EntityKey& key) { failed_.erase(key); }
  // Failures after the first silent one. 0: no backoff.
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
