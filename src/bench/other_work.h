// The machine's load by other processes.
#pragma once

#include "base/clock.h"

namespace berth::bench {

// Measures from construction on. Source: proc(5), /proc/stat.
class OtherWork {
 public:
  OtherWork();
  // The share of all processors since the start, 0 to 1.
  double share() const;

 private:
  SystemClock clock_;
  Time began_;
  double others_s_;
};

}  // namespace berth::bench
