// For tests: a queue of lines from other threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

namespace berth::server {

inline constexpr int kWaitMillisMax = 20000;  // a test that waits longer has failed

// Thread-safe. take() waits for the next line.
class Heard {
 public:
  void put(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  std::string take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::milliseconds(kWaitMillisMax),
                           [this] { return !lines_.empty(); }))
      return "nothing came";
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
};

}  // namespace berth::server
