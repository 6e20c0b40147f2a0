#include "base/executor.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace berth {
namespace {

class QueuedPool final : public ThreadPool {
 public:
  explicit QueuedPool(std::size_t thread_count) {
    for (std::size_t i = 0; i < thread_count; ++i) threads_.emplace_back([this] { run(); });
  }

  ~QueuedPool() override { stop(); }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void post(std::function<void()> work) override {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      queue_.push_back(std::move(work));
    }
    wake_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;  // bounded by the callers' own limits on what is in flight
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<ThreadPool> make_thread_pool(std::size_t thread_count) {
  return std::make_unique<QueuedPool>(thread_count);
}

}  // namespace berth
