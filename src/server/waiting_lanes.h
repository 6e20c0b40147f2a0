// Threads for work that waits for others, such as a webhook: it never holds the pool of requests.
//
// A lane is the work of one name; at most kLaneThreadsMax threads are in one, so a name that never answers
// leaves threads to the others. Threads are made when there is work, and stay. Owner: ConversionWebhooks.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace berth::server {

inline constexpr int kLaneThreadsMax = 4;
inline constexpr std::size_t kWaitingThreadsMax = 32;
inline constexpr std::size_t kLaneWorkMax = 256;  // that waits for a thread of its lane

class WaitingLanes {
 public:
  WaitingLanes();
  ~WaitingLanes();
  WaitingLanes(const WaitingLanes&) = delete;
  WaitingLanes& operator=(const WaitingLanes&) = delete;

  // Runs `work` soon. False, and nothing is run, when kLaneWorkMax wait in the lane.
  bool offer(const std::string& lane, std::function<void()> work);
  // What continues accepted work has no bound of its own.
  void post(const std::string& lane, std::function<void()> work);
  // Finishes what runs, drops what waits. Work posted later is dropped.
  void stop();

 private:
  struct Threads;
  struct Lane {
    std::deque<std::function<void()>> work;
    int threads = 0;           // that are in it or on their way
    std::size_t arriving = 0;  // of these: on their way, each for one piece of work
  };

  void add(const std::string& name, Lane& lane, std::function<void()> work);
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Lane> lanes_;
  std::deque<std::string> ready_;  // lanes that a thread has to enter, once for each
  const std::unique_ptr<Threads> threads_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace berth::server
