// How far an API server's clock is from this machine's, measured from the Date headers of its answers.
//
// The server makes a Date while the request is under way, and cuts it to whole seconds. So an answer gives an
// interval for the offset, one second plus the round trip wide. An offset inside the interval stays, so
// clocks that agree are left alone; another becomes the middle. Promise: after the first answer now() is at
// most 1 s + kDatedRoundTripMax off, after a later list at most kClockErrorMax more. The drift of both clocks
// between two lists is added to that.
// Source: Cristian, probabilistic clock synchronisation.
#pragma once

#include <mutex>

#include "base/clock.h"
#include "client/http_fetch.h"

namespace berth::client {

inline constexpr Duration kDatedRoundTripMax = Duration::seconds(2);  // slower answers are not measured
inline constexpr Duration kClockErrorMax = Duration::seconds(2);      // less is not corrected later

// Thread-safe.
class ServerTime {
 public:
  enum class Answer {
    Any,   // measured when it is the first
    List,  // measured always: a list is followed by deciding anew
  };

  // Sets the offset of `clock`, which outlives it.
  explicit ServerTime(SteadyClock& clock) : clock_(clock) {}
  void heard(const HttpReply& reply, Answer answer);

 private:
  SteadyClock& clock_;
  std::mutex mutex_;
  bool measured_ = false;
};

}  // namespace berth::client
