#include "bench/other_work.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace berth::bench {
namespace {

double own_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double others_s() {
  std::ifstream file("/proc/stat");
  std::string label;
  file >> label;
  constexpr int kIdle = 3, kIoWait = 4, kSteal = 7;
  double busy = 0, ticks = 0;
  for (int i = 0; i <= kSteal && file >> ticks; ++i)
    if (i != kIdle && i != kIoWait) busy += ticks;
  return busy / static_cast<double>(sysconf(_SC_CLK_TCK)) - own_s();
}

}  // namespace

OtherWork::OtherWork() : began_(clock_.monotonic()), others_s_(others_s()) {}

double OtherWork::share() const {
  const double wall_s = (clock_.monotonic() - began_).seconds_f();
  return std::max(0.0, others_s() - others_s_) /
         (wall_s * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace berth::bench
