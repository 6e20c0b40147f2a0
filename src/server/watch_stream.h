// One open watch: the state at its start, then every event after it, as lines of JSON.
//
// Owner: WatchHub. Events arrive on the committer's thread in a bounded queue; a pool thread renders them as
// lines. Source: the watch events and bookmarks of k8s.io/apiserver; texts observed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "server/http.h"
#include "server/list_options.h"
#include "server/matcher.h"
#include "server/registry.h"
#include "server/rendering.h"
#include "store/store.h"

namespace berth::server {

inline constexpr std::size_t kWatchQueueEventsMax =
    50'000;  // undelivered events of one watch; more closes it
inline constexpr std::int64_t kBookmarkPeriodS = 60;
inline constexpr std::int64_t kWatchTimeoutDefaultS = 1800;

class WatchStream final : public store::WatchSink, public std::enable_shared_from_this<WatchStream> {
 public:
  // `registry` outlives it.
  WatchStream(const Registry& registry, ObjectTarget target, ListOptions options, Rendering rendering,
              Matcher matches, std::shared_ptr<HttpExchange> exchange);
  // The state at the start, then everything after it.
  void start();
  void on_events(std::span<const store::WatchEventPtr> events, store::Revision progress) override;
  // False when the stream has ended.
  bool tick(Time now);
  void close();

 private:
  bool closed() const;
  // The revision of the state that was sent; nothing when the stream broke.
  std::optional<store::Revision> send_state();
  void drain();
  bool send(const store::WatchEvent& event);
  // The event of a watcher with a selector for an object that left its selection: the state before, the
  // version after.
  static store::ObjectPtr left_behind(const store::WatchEvent& event);
  std::string shown(const store::ObjectPtr& object);
  void send_bookmark(bool ends_initial_events);

  const Registry& registry_;
  const ObjectTarget target_;
  const ListOptions options_;
  const Rendering rendering_;
  const Matcher matches_;
  const std::shared_ptr<HttpExchange> exchange_;
  Time ends_at_, bookmark_at_;
  bool columns_sent_ = false;  // used only by the sender

  mutable std::mutex mutex_;
  std::deque<store::WatchEventPtr> queue_;
  store::Revision progress_ = 0;
  bool draining_ = false;
  bool overrun_ = false;
  bool closed_ = false;
  std::unique_ptr<store::WatchHandle> handle_;
};

}  // namespace berth::server
