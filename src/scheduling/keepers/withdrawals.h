// Withdraws decisions: writes spec.withdrawn of their BindRequests until the view shows it.
//
// The binder rolls such a request back and marks it Failed; then the pod is decided again. Owner: the
// scheduler, one thread. Cost: O(log n) a call. Memory: proportional to the withdrawals that the view does
// not show.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "client/decider.h"
#include "scheduling/keepers/retried_writes.h"

namespace berth::scheduling {

inline constexpr std::size_t kWithdrawalsPerWriteMax = 64;  // chains of one Effects

class Withdrawals {
 public:
  // Withdraws the request's present decision. A second call for it changes nothing.
  void want(const api::BindRequest& request, Time now);

  // Writes that are due, at most kWithdrawalsPerWriteMax; forgets requests that the view shows as withdrawn
  // or gone.
  client::Effects due(const client::View& view, Time now);
  // The result of the write to this request. False if none was under way.
  bool write_done(const api::ObjectKey& key, bool ok, Time now);
  std::optional<Time> next_time() const { return writes_.next_time(); }

 private:
  std::map<api::ObjectKey, std::string> decisions_;  // to be withdrawn, by request
  RetriedWrites writes_;
};

}  // namespace berth::scheduling
