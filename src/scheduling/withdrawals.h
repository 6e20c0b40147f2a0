// Decisions that the scheduler takes back: spec.withdrawn of their bind requests, until the view shows it.
//
// The binder gives back what such a request holds and marks it Failed; then the pod is decided again. Owner:
// the scheduler, one thread. Cost: O(log n) a call. Memory: proportional to the requests that wait for the
// write.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "client/decider.h"
#include "scheduling/retried_writes.h"

namespace berth::scheduling {

inline constexpr std::size_t kWithdrawalsPerWriteMax = 64;  // chains of one Effects

class Withdrawals {
 public:
  // Of the decision that the request has now. A second call for it changes nothing.
  void want(const api::BindRequest& request, Time now);

  // Writes that are due, at most kWithdrawalsPerWriteMax; forgets what the view shows as done or as gone.
  client::Effects due(const client::View& view, Time now);
  // What came of the write to this request; false when none of it is under way.
  bool write_done(const api::ObjectKey& key, bool ok, Time now);
  std::optional<Time> next_time() const { return writes_.next_time(); }

 private:
  std::map<api::ObjectKey, std::string> decisions_;  // to be withdrawn, by request
  RetriedWrites writes_;
};

}  // namespace berth::scheduling
