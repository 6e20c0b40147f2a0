// The newest health of every node that has plugins: from the threads that receive it to the reconciler that
// writes it.
//
// Thread-safe; holds its lock only for a look-up. Nodes without a plugin have no entry.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "health/health_cache.h"

namespace berth::health {

class HealthFeed {
 public:
  using Snapshot = std::shared_ptr<const HealthSnapshot>;
  // Called on the publisher's thread when a node's health changed and was read since the last call for that
  // node. Setting it waits for a call in progress; an empty function ends the calls.
  void on_change(std::function<void(const std::string& node)> wake);

  void publish(const std::string& node, Snapshot snapshot);
  // Null for a node without plugins.
  Snapshot latest(std::string_view node);

 private:
  struct Slot {
    Snapshot snapshot;
    bool unread = false;
  };
  std::mutex mutex_;
  std::map<std::string, Slot, std::less<>> slots_;
  std::mutex wake_mutex_;  // held during a call
  std::function<void(const std::string&)> wake_;
};

}  // namespace berth::health
