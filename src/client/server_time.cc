#include "client/server_time.h"

#include <algorithm>

#include "base/log.h"

namespace berth::client {

void ServerTime::heard(const HttpReply& reply, Answer answer) {
  const std::lock_guard lock(mutex_);
  if (!reply.date.is_set() || (measured_ && answer == Answer::Any)) return;
  if (reply.headed_at - reply.begun_at > kDatedRoundTripMax) return;
  const Duration low = reply.date - clock_.own(reply.headed_at);
  const Duration high = reply.date + Duration::seconds(1) - clock_.own(reply.begun_at);
  const Duration offset = clock_.offset();
  const Duration error = std::max({low - offset, offset - high, Duration()});
  const bool wrong = error > (measured_ ? kClockErrorMax : Duration());
  measured_ = true;
  if (!wrong) return;
  const Duration middle = Duration::micros((low.micros() + high.micros()) / 2);
  clock_.set_offset(middle);
  const bool far = middle > kClockErrorMax || middle < Duration() - kClockErrorMax;
  log(far ? LogLevel::Warning : LogLevel::Info,
      "the clock of this machine and that of the API server differ: the server's counts",
      {{"server_ahead_ms", std::to_string(middle.millis())}});
}

}  // namespace berth::client
