// One open watch: the state at its start, then every event after it, as frames (event_frames.h).
//
// Owner: WatchHub. The committer's thread only announces news, to watches whose selector may want it: a turn
// on a pool thread costs more than to look. It does not ask watches of a node's pods about other pods. Pool
// threads, one at a time, make frames while the peer takes them: of the state from a cursor, of events from
// the store's window. So a watch keeps a position, at most kStreamFillBytes of unsent frames, and one more. A
// watch that the window has overtaken is cut, and that is logged. Source: the watch events and bookmarks of
// k8s.io/apiserver; texts observed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/event_frames.h"
#include "server/http.h"
#include "server/list_options.h"
#include "server/list_reader.h"
#include "server/matcher.h"
#include "server/registry.h"
#include "server/rendering.h"
#include "store/store.h"

namespace berth::server {

// Objects or events that one turn on a pool thread looks at; then others have theirs.
inline constexpr std::size_t kWatchTurnMax = 256;
inline constexpr std::int64_t kBookmarkPeriodS = 60;
inline constexpr std::int64_t kWatchTimeoutDefaultS = 1800;
// How long a version beyond the newest is waited for. Source: blockTimeout of the reference's watch cache.
inline constexpr std::int64_t kFutureVersionWaitS = 3;

class WatchStream final : public store::WatchSink, public std::enable_shared_from_this<WatchStream> {
 public:
  // `registry` outlives it.
  WatchStream(const Registry& registry, ObjectTarget target, ListOptions options, Rendering rendering,
              Matcher matches, std::shared_ptr<HttpExchange> exchange);
  // The state at the start, then everything after it.
  void start();
  void on_events(std::span<const store::WatchEventPtr> events, store::Revision progress) override;
  store::MemberFilter filter() const override { return matches_.filter; }
  // False when the stream has ended.
  bool tick(Time now);
  void close();
  // Whether another definition, or none, serves its custom resource now.
  bool is_replaced(const ServedSet& served) const;
  // Sends what has happened, then ends the stream.
  void end();

 private:
  // What a turn came to: there is more; nothing more now; the peer has no room; the stream has ended.
  enum class Turn { More, Idle, Full, Ended };

  bool closed() const;
  bool concerns(const store::Key& key) const;
  bool may_be_shown(const store::WatchEvent& event) const;
  // Decides what is sent first. False when the request ends with its refusal.
  bool set_out();
  void wake();
  void post_turn();
  void take_turn();
  Turn send_state();
  // Of a resource with a webhook: its events are converted before they are looked at.
  Turn send_converted_events(std::span<const store::WatchEventPtr> events);
  ApiResult<std::vector<store::WatchEvent>> converted(std::span<const store::WatchEventPtr> events) const;
  Turn end_state();
  Turn send_events();
  Turn come_to_rest();
  // The last event of the stream.
  Turn refuse(const ApiStatus& status);
  Turn overtaken();
  bool send(const store::WatchEvent& event);
  // What a watcher with a selector sees of an object that left its selection: the state before, the version
  // after.
  static store::ObjectPtr left_behind(const store::WatchEvent& event);
  // False when the stream has ended.
  bool send_object(std::string_view type, const store::ObjectPtr& object);
  void send_bookmark(bool ends_initial_events);
  std::string resource() const { return storage_resource(*target_.resource); }

  const Registry& registry_;
  const ObjectTarget target_;
  const ListOptions options_;
  const Matcher matches_;
  const std::shared_ptr<HttpExchange> exchange_;
  Time ends_at_, bookmark_at_, future_until_;

  // Only of the turn under way.
  std::optional<ListReader> state_;  // what is left of the state at the start
  store::Revision position_ = 0;     // everything up to here has been sent
  EventFrames frames_;

  mutable std::mutex mutex_;
  store::Revision skipped_to_ = 0;  // no event up to here concerns this watch, but for those already sent
  bool taking_turns_ = true;        // also while the peer has no room
  bool news_ = false;               // a turn that comes to rest has to look again
  bool bookmark_due_ = false;
  bool ending_ = false;  // its time is over, or its resource
  bool full_ = false;
  bool ahead_ = false;  // of every version there is
  bool closed_ = false;
  std::unique_ptr<store::WatchHandle> handle_;
};

}  // namespace berth::server
