// SIGINT and SIGTERM as a waitable object. Created before any thread, so that all of them inherit the mask.
#pragma once

#include "base/time.h"

namespace berth::cli {

class StopSignal {
 public:
  StopSignal();
  void wait() const;
  // True when a signal arrived within `limit`.
  bool wait_for(Duration limit) const;

 private:
  int descriptor_;
};

}  // namespace berth::cli
