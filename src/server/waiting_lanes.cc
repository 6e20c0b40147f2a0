#include "server/waiting_lanes.h"

#include <thread>
#include <vector>

namespace berth::server {

struct WaitingLanes::Threads {
  std::vector<std::thread> all;
};

WaitingLanes::WaitingLanes() : threads_(std::make_unique<Threads>()) {}
WaitingLanes::~WaitingLanes() {
  stop();
}

bool WaitingLanes::offer(const std::string& lane, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  Lane& entered = lanes_[lane];
  if (entered.work.size() >= kLaneWorkMax) return false;
  add(lane, entered, std::move(work));
  return true;
}

void WaitingLanes::post(const std::string& lane, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  add(lane, lanes_[lane], std::move(work));
}

void WaitingLanes::add(const std::string& name, Lane& lane, std::function<void()> work) {
  if (stopping_) return;
  lane.work.push_back(std::move(work));
  if (lane.threads == kLaneThreadsMax) return;
  ++lane.threads;
  ++lane.arriving;
  ready_.push_back(name);
  if (idle_ < ready_.size() && threads_->all.size() < kWaitingThreadsMax)
    threads_->all.emplace_back([this] { run(); });
  changed_.notify_one();
}

void WaitingLanes::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    --idle_;
    if (stopping_) return;
    const std::string name = std::move(ready_.front());
    ready_.pop_front();
    Lane& lane = lanes_.at(name);
    --lane.arriving;
    std::function<void()> work = std::move(lane.work.front());
    lane.work.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    if (stopping_) return;
    // More work of this lane comes after that of the others.
    if (lane.work.size() > lane.arriving) {
      ++lane.arriving;
      ready_.push_back(name);
    } else if (--lane.threads == 0) {
      lanes_.erase(name);
    }
  }
}

void WaitingLanes::stop() {
  std::vector<std::thread> threads;
  std::map<std::string, Lane> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_->all);
    for (auto& [name, lane] : lanes_) dropped[name].work.swap(lane.work);
    ready_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace berth::server
