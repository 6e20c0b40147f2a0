#include "cli/stop_signal.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <csignal>

#include "base/assert.h"

namespace berth::cli {

StopSignal::StopSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  descriptor_ = signalfd(-1, &signals, SFD_CLOEXEC);
  BERTH_ASSERT(descriptor_ >= 0, "the kernel offers signalfd");
}

void StopSignal::wait() const {
  while (!wait_for(Duration::minutes(60))) {
  }
}

bool StopSignal::wait_for(Duration limit) const {
  pollfd watched{descriptor_, POLLIN, 0};
  return poll(&watched, 1, static_cast<int>(limit.millis())) > 0;
}

}  // namespace berth::cli
