#include "base/clock.h"

#include <ctime>

namespace berth {
namespace {

Time read(clockid_t id) {
  timespec spec{};
  clock_gettime(id, &spec);
  return Time::from_micros(static_cast<std::int64_t>(spec.tv_sec) * 1000000 + spec.tv_nsec / 1000);
}

}  // namespace

Time SystemClock::now() const {
  return read(CLOCK_REALTIME);
}
Time SystemClock::monotonic() const {
  return read(CLOCK_BOOTTIME);
}

}  // namespace berth
