// Decisions that the scheduler takes back: spec.withdrawn of their bind requests, until the view shows it.
//
// The binder gives back what such a request holds and marks it Failed; then the pod is decided again. Owner:
// the scheduler, one thread. Cost: O(log n) a call. Memory: proportional to the requests that wait for the
// write.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "client/decider.h"

namespace berth::scheduling {

inline constexpr std::size_t kWithdrawalsPerWriteMax = 64;  // chains of one Effects
inline constexpr Duration kWithdrawalRetryFirst = Duration::millis(200);
inline constexpr Duration kWithdrawalRetryMax = Duration::seconds(10);

class Withdrawals {
 public:
  // Of the decision that the request has now. A second call for it changes nothing.
  void want(const api::BindRequest& request, Time now);
  void clear();

  // Writes that are due, at most kWithdrawalsPerWriteMax; forgets what the view shows as done or as gone.
  client::Effects due(const client::View& view, Time now);
  // What came of the write to this request; false when none of it is under way.
  bool write_done(const api::ObjectKey& key, bool ok, Time now);
  std::optional<Time> next_time() const;

 private:
  struct PendingWithdrawal {
    std::string decision;
    Time due;  // also while the write is under way: then it is looked at once it is answered
    std::uint32_t failures = 0;
    bool under_way = false;
  };
  void schedule(const api::ObjectKey& key, PendingWithdrawal& entry, Time at);

  std::map<api::ObjectKey, PendingWithdrawal> entries_;
  std::set<std::pair<Time, api::ObjectKey>> due_;  // of entries without a write under way
};

}  // namespace berth::scheduling
