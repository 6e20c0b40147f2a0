// Decisions that the scheduler takes back: spec.withdrawn of their bind requests, until the view shows it.
//
// The binder gives back what such a request holds and marks it Failed; then the pod is decided again. Owner:
// the scheduler, one thread. Memory: proportional to the requests that wait for the write.
#pragma once

#include <map>
#include <optional>

#include "client/decider.h"

namespace berth::scheduling {

inline constexpr std::size_t kWithdrawalsPerWriteMax = 64;  // chains of one Effects
inline constexpr Duration kWithdrawalRetryFirst = Duration::millis(200);
inline constexpr Duration kWithdrawalRetryMax = Duration::seconds(10);

class Withdrawals {
 public:
  // Of the decision that the request has now. A second call for it changes nothing.
  void want(const api::BindRequest& request, Time now);
  void clear() { entries_.clear(); }

  // Writes that are due; forgets what the view shows as done or as gone.
  client::Effects due(const client::View& view, Time now);
  // What came of the write to this request; false when none of it is under way.
  bool settle(const api::ObjectKey& key, bool ok, Time now);
  std::optional<Time> next_time() const;

 private:
  struct Entry {
    std::string decision;
    Time due;
    std::uint32_t failures = 0;
    bool under_way = false;
  };
  std::map<api::ObjectKey, Entry> entries_;
};

}  // namespace berth::scheduling
