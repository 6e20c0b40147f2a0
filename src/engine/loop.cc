#include "engine/loop.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/wake_pacer.h"

namespace berth::engine {

struct Loop::State {
  State(Engine& engine, const Clock& clock) : engine(engine), clock(clock) {}

  void run();
  void sleep_until(std::optional<Time> wake);

  Engine& engine;
  const Clock& clock;
  std::mutex mutex;
  std::condition_variable changed;
  bool messages = false;
  bool awaits_messages = false;  // a message must wake the thread
  bool synced = false;
  bool stopping = false;  // set by the loop itself
  std::optional<Time> stop_deadline;
  EngineCounters counters;
  std::function<void()> observe;
  WakePacer pacer;
  std::thread thread;
};

void Loop::State::run() {
  for (;;) {
    engine.receive();
    const bool more = engine.work(clock.now());
    {
      const std::lock_guard lock(mutex);
      synced = engine.synced();
      if (!more) counters = engine.counters();
      if (stop_deadline && !stopping) {
        stopping = true;
        engine.begin_stop(*stop_deadline);
      }
    }
    if (stopping && engine.stopped(clock.now())) return;
    if (!more && observe) observe();
    if (!more) sleep_until(engine.next_wake());
  }
}

void Loop::State::sleep_until(std::optional<Time> wake) {
  std::unique_lock lock(mutex);
  const auto ends = [this] { return stop_deadline && !stopping; };
  const Duration rest = pacer.spend(clock.monotonic());
  if (rest > Duration()) changed.wait_for(lock, std::chrono::microseconds(rest.micros()), ends);
  Duration pause = kLoopSleepMax;
  if (wake) pause = std::min(pause, *wake - clock.now());
  const auto woken = [&] { return messages || ends(); };
  awaits_messages = true;
  changed.wait_for(lock, std::chrono::microseconds(std::max<std::int64_t>(pause.micros(), 0)), woken);
  messages = awaits_messages = false;
}

Loop::Loop(Engine& engine, const Clock& clock, std::string name, std::function<void()> observe)
    : state_(std::make_shared<State>(engine, clock)) {
  State& state = *state_;
  state.observe = std::move(observe);
  engine.on_message([kept = state_] {
    const std::lock_guard lock(kept->mutex);
    kept->messages = true;
    if (kept->awaits_messages) kept->changed.notify_one();
  });
  constexpr std::size_t kThreadNameBytesMax = 15;
  name.resize(std::min(name.size(), kThreadNameBytesMax));
  state.thread = std::thread([&state] { state.run(); });
  pthread_setname_np(state.thread.native_handle(), name.c_str());
}

Loop::~Loop() {
  stop(Duration{});
  state_->engine.on_message(nullptr);
}

void Loop::stop(Duration grace) {
  State& state = *state_;
  {
    const std::lock_guard lock(state.mutex);
    if (!state.stop_deadline) state.stop_deadline = state.clock.now() + grace;
    state.changed.notify_one();
  }
  if (state.thread.joinable()) state.thread.join();
}

bool Loop::synced() const {
  const std::lock_guard lock(state_->mutex);
  return state_->synced;
}

EngineCounters Loop::counters() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counters;
}

}  // namespace berth::engine
