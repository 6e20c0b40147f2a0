// Runs short computations: on a thread pool in the real process, inline in the simulator.
#pragma once

#include <functional>
#include <memory>

namespace berth {

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `work` soon, in no particular order and on any thread. `work` must not block on other work.
  virtual void post(std::function<void()> work) = 0;
};

// Runs the work at once, on the caller's thread.
class InlineExecutor final : public Executor {
 public:
  void post(std::function<void()> work) override { work(); }
};

// Threads that share one queue.
class ThreadPool : public Executor {
 public:
  // Runs what is queued, then joins its threads. Work posted later is dropped; a second call does nothing.
  virtual void stop() = 0;
};

std::unique_ptr<ThreadPool> make_thread_pool(std::size_t thread_count);

}  // namespace berth
