// What tests of an HttpFetcher share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/http_fetch.h"

namespace berth::client {

inline constexpr int kWaitMillisMax = 20000;  // a test that waits longer has failed

// Where callbacks hand over.
template <class T>
class Inbox {
 public:
  void put(T item) {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    changed_.notify_all();
  }
  T take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::milliseconds(kWaitMillisMax),
                           [this] { return !items_.empty(); })) {
      ADD_FAILURE() << "nothing came";
      return T();
    }
    T item = std::move(items_.front());
    items_.erase(items_.begin());
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> items_;
};

class Fetching {
 public:
  explicit Fetching(const ClusterAccess& access, HttpFetcherOptions options = {})
      : fetcher(HttpFetcher::open(access, std::move(options), clock).value()) {}
  HttpReply fetch(HttpFetch fetch) {
    Inbox<HttpReply> inbox;
    fetcher->submit(std::move(fetch), [&](HttpReply reply) { inbox.put(std::move(reply)); });
    return inbox.take();
  }
  // Those that come later are reported by their target, in the order in which they end.
  void begin(HttpFetch fetch) {
    std::string target = fetch.target;
    fetcher->submit(std::move(fetch), [this, target = std::move(target)](HttpReply reply) {
      ended.put({target, std::move(reply)});
    });
  }
  // What a stream reports, a line each.
  StreamCallbacks listener() {
    return {.on_status = [this](int status,
                                const HttpHeaders&) { heard.put("status " + std::to_string(status)); },
            .on_bytes = [this](std::string_view bytes) { heard.put("bytes " + std::string(bytes)); },
            .on_end = [this](std::string trouble) { heard.put("end " + trouble); }};
  }

  SystemClock clock;
  Inbox<std::string> heard;
  Inbox<std::pair<std::string, HttpReply>> ended;
  std::unique_ptr<HttpFetcher> fetcher;
};

// Granted so many times.
class CountingPermit final : public SendPermit {
 public:
  explicit CountingPermit(int times) : left_(times) {}
  bool granted() const override { return left_-- > 0; }

 private:
  mutable std::atomic<int> left_;
};

}  // namespace berth::client
