// How busy the machine is with work that is not this process.
#pragma once

#include "base/clock.h"

namespace berth::bench {

// Counts from its construction. Source: proc(5), /proc/stat.
class OtherWork {
 public:
  OtherWork();
  // Of all processors since the start, between 0 and 1.
  double share() const;

 private:
  SystemClock clock_;
  Time began_;
  double others_s_;
};

}  // namespace berth::bench
