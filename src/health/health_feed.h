// The newest health of every node that has plugins: node agents write it, the reconciler reads it. In the
// other direction it has the pods of the nodes on which agents allocate devices.
//
// Thread-safe; holds its lock only for a look-up. Nodes without a plugin have no entry.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "health/health_cache.h"

namespace berth::health {

// What agents may do on their nodes.
enum class NodeRole {
  // A guest: it reads health streams, and leaves sockets, registrations, claims and statuses to the kubelet.
  BesideKubelet,
  // No kubelet registers the node's DRA drivers and reports their health: the agent does both.
  RegistersDrivers,
  // No kubelet at all: agents act as one. They register device plugins too, allocate their devices to the
  // pods of the feed, prepare claims, and serve pod resources; nodes come and go with the feed.
  OwnsNodes,
};

class HealthFeed {
 public:
  using Snapshot = std::shared_ptr<const HealthSnapshot>;
  // Called on the publisher's thread when a node's health changed and was read since the last call for that
  // node. Setting it waits for a call in progress; an empty function ends the calls.
  void on_change(std::function<void(const std::string& node)> wake);

  void publish(const std::string& node, Snapshot snapshot);
  // Null for a node without plugins.
  Snapshot latest(std::string_view node);
  // Of every node that has plugins.
  std::map<std::string, Snapshot> all();
  // The same for those who are not woken.
  Snapshot peek(std::string_view node) const;

  // A simulated node exists, or does not any more. Informs on_nodes().
  enum class Presence { Here, Gone };
  void put_node(const std::string& node, Presence presence);
  std::vector<std::string> nodes() const;
  // Called on the putter's thread after a change. Setting it waits for a call in progress.
  void on_nodes(std::function<void(const std::string& node, Presence)> tell);

  // The agent of the node allocates devices itself: no kubelet does. Wakes the reader.
  void serve(const std::string& node);
  void stop_serving(const std::string& node);
  bool serves(std::string_view node) const;
  // Whether a plugin appeared on the node and nobody knows yet what it is. Wakes the reader at a change.
  void put_introducing(const std::string& node, bool introducing);
  bool introducing(std::string_view node) const;
  // The pods of a node that is served; ignored for others and when nothing changed.
  using Pods = std::shared_ptr<const NodePods>;
  void put_pods(const std::string& node, NodePods pods);
  // Null before the first.
  Pods pods(std::string_view node) const;
  // Called on the putter's thread. Setting it waits for a call in progress.
  void on_pods(std::function<void(const std::string& node)> tell);

 private:
  void wake(const std::string& node);
  struct Slot {
    Snapshot snapshot;
    bool unread = false;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Slot, std::less<>> slots_;
  std::map<std::string, Pods, std::less<>> served_;
  std::set<std::string, std::less<>> introducing_;
  std::mutex wake_mutex_;  // held during a call
  std::function<void(const std::string&)> wake_;
  std::set<std::string> nodes_;
  std::mutex tell_mutex_;  // held during a call
  std::function<void(const std::string&)> tell_;
  std::function<void(const std::string&, Presence)> tell_node_;
};

}  // namespace berth::health
