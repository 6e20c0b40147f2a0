// Where short computations run: a pool in the real process, inline in the simulator.
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

// Runs at once, on the caller's thread.
class InlineExecutor final : public Executor {
 public:
  void post(std::function<void()> work) override { work(); }
};

// Threads that share one queue. The destructor runs what is queued, then joins.
std::unique_ptr<Executor> make_thread_pool(std::size_t thread_count);

}  // namespace berth
