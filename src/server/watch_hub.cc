#include "server/watch_hub.h"

#include <deque>
#include <mutex>
#include <set>

#include "server/serialization.h"

namespace berth::server {
namespace {

std::string frame(std::string_view type, const std::string& object) {
  std::string line = "{\"type\":\"";
  return line.append(type).append("\",\"object\":").append(object).append("}\n");
}

}  // namespace

// One watch. Events come on the committer's thread into a bounded queue; a pool thread turns them into lines.
class WatchHub::Stream final : public store::WatchSink,
                               public std::enable_shared_from_this<WatchHub::Stream> {
 public:
  Stream(const Registry& registry, ObjectTarget target, ListOptions options, Rendering rendering,
         Matcher matches, std::shared_ptr<HttpExchange> exchange)
      : registry_(registry),
        target_(std::move(target)),
        options_(std::move(options)),
        rendering_(rendering),
        matches_(std::move(matches)),
        exchange_(std::move(exchange)) {
    const Time now = registry_.dependencies().clock.monotonic();
    ends_at_ = now + Duration::seconds(options_.timeout_s > 0 ? options_.timeout_s : kWatchTimeoutDefaultS);
    bookmark_at_ = now + Duration::seconds(kBookmarkPeriodS);
  }

  // The state at the start, then everything after it.
  void start() {
    exchange_->begin_stream(200, {{"Content-Type", "application/json"}});
    store::Revision from = options_.version.value_or(0);
    // sendInitialEvents=false asks for news only, also without a version.
    const bool said_no = options_.initial_events_said && !options_.initial_events;
    if (from == 0 && said_no) from = registry_.store().revision();
    if (from == 0 || options_.initial_events) {
      const auto sent = send_state();
      if (!sent) return;
      from = *sent;
    }
    auto handle = registry_.store().watch(storage_resource(*target_.resource), from, *this);
    if (!handle) {
      const std::string text = "too old resource version: " + std::to_string(from) + " (" +
                               std::to_string(registry_.store().oldest_watchable()) + ")";
      exchange_->send(frame("ERROR", to_string(expired(text).to_json())));
      exchange_->end_stream();
      return;
    }
    const std::lock_guard lock(mutex_);
    if (!closed_) handle_ = std::move(handle).value();
  }

  void on_events(std::span<const store::EventPtr> events, store::Revision progress) override {
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      progress_ = progress;
      for (const store::EventPtr& event : events) {
        const store::Key& key = event->object->key;
        const bool elsewhere = (!target_.ns.empty() && key.ns != target_.ns) ||
                               (!target_.name.empty() && key.name != target_.name);
        if (!elsewhere) queue_.push_back(event);
      }
      overrun_ |= queue_.size() > kWatchQueueEventsMax;
      wake = !queue_.empty() && !draining_;
      draining_ |= wake;
    }
    if (wake) registry_.dependencies().executor.post([self = shared_from_this()] { self->drain(); });
  }

  // False when the stream has ended.
  bool tick(Time now) {
    if (closed()) return false;
    const bool over = now >= ends_at_;
    if (options_.bookmarks && (over || now >= bookmark_at_)) {
      bookmark_at_ = now + Duration::seconds(kBookmarkPeriodS);
      send_bookmark(false);
    }
    if (!over) return true;
    close();
    return false;
  }

  void close() {
    std::unique_ptr<store::WatchHandle> handle;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      closed_ = true;
      handle = std::move(handle_);
      queue_.clear();
    }
    exchange_->end_stream();
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  // The revision of the state that was sent; nothing when the stream broke.
  std::optional<store::Revision> send_state() {
    store::ListQuery query;
    query.resource = storage_resource(*target_.resource);
    query.ns = target_.ns;
    query.accept = matches_;
    const Result<store::ListPage> page = registry_.store().list(query);
    if (!page) return std::nullopt;
    for (const store::ObjectPtr& object : page->objects)
      if (!exchange_->send(frame("ADDED", shown(object)))) return std::nullopt;
    {
      const std::lock_guard lock(mutex_);
      progress_ = page->revision;
    }
    const bool announces_end = options_.bookmarks && (options_.initial_events || options_.version);
    if (announces_end) send_bookmark(true);
    return page->revision;
  }

  void drain() {
    for (;;) {
      std::deque<store::EventPtr> events;
      {
        const std::lock_guard lock(mutex_);
        draining_ = !overrun_ && !queue_.empty() && !closed_;
        if (draining_) events.swap(queue_);
        if (!draining_ && !overrun_) return;
      }
      if (events.empty()) return close();
      for (const store::EventPtr& event : events)
        if (!send(*event)) return close();
    }
  }

  bool send(const store::Event& event) {
    const bool deleted = event.kind == store::Event::Kind::Deleted;
    const bool now_in = !deleted && (!matches_ || matches_(*event.object));
    const bool was_in = event.previous && (!matches_ || matches_(*event.previous));
    if (!now_in && !was_in) return true;
    if (now_in) return exchange_->send(frame(was_in ? "MODIFIED" : "ADDED", shown(event.object)));
    return exchange_->send(frame("DELETED", deleted ? shown(event.object) : shown(left_behind(event))));
  }

  // What a watcher with a selector sees of an object that left its selection: the state before, the version
  // after.
  static store::ObjectPtr left_behind(const store::Event& event) {
    auto object = std::make_shared<store::Object>(*event.previous);
    const std::string old_version =
        "\"resourceVersion\":\"" + std::to_string(event.previous->revision) + "\"";
    const std::size_t at = object->bytes.find(old_version);
    if (at != std::string::npos)
      object->bytes.replace(at, old_version.size(),
                            "\"resourceVersion\":\"" + std::to_string(event.object->revision) + "\"");
    object->revision = event.object->revision;
    return object;
  }

  std::string shown(const store::ObjectPtr& object) {
    if (rendering_.form == Form::Metadata) return metadata_bytes(object->bytes);
    if (rendering_.form == Form::Object) return object_bytes(*target_.resource, object->bytes);
    const bool first = !std::exchange(columns_sent_, true);
    const std::string metadata = "{\"resourceVersion\":\"" + std::to_string(object->revision) + "\"}";
    return table_bytes(*target_.resource, {object}, rendering_, metadata,
                       registry_.dependencies().clock.now(), first);
  }

  void send_bookmark(bool ends_initial_events) {
    store::Revision progress = 0;
    {
      const std::lock_guard lock(mutex_);
      if (!queue_.empty() || draining_) return;
      progress = progress_;
    }
    if (progress == 0) return;
    Json metadata =
        Json::object({{"resourceVersion", std::to_string(progress)}, {"creationTimestamp", Json()}});
    if (ends_initial_events) metadata["annotations"] = Json::object({{"k8s.io/initial-events-end", "true"}});
    const bool partial = rendering_.form != Form::Object;
    const Json object =
        Json::object({{"kind", partial ? std::string_view("PartialObjectMetadata") : target_.resource->kind},
                      {"apiVersion", partial ? "meta.k8s.io/v1" : api_version_of(*target_.resource)},
                      {"metadata", std::move(metadata)}});
    exchange_->send(frame("BOOKMARK", to_string(object)));
  }

  const Registry& registry_;
  const ObjectTarget target_;
  const ListOptions options_;
  const Rendering rendering_;
  const Matcher matches_;
  const std::shared_ptr<HttpExchange> exchange_;
  Time ends_at_, bookmark_at_;
  bool columns_sent_ = false;  // only the sender's

  mutable std::mutex mutex_;
  std::deque<store::EventPtr> queue_;
  store::Revision progress_ = 0;
  bool draining_ = false;
  bool overrun_ = false;
  bool closed_ = false;
  std::unique_ptr<store::WatchHandle> handle_;
};

// Shared with the exchanges' callbacks, which may outlive the hub.
struct WatchHub::Open {
  std::mutex mutex;
  std::set<std::shared_ptr<Stream>> streams;

  void add(const std::shared_ptr<Stream>& stream) {
    const std::lock_guard lock(mutex);
    streams.insert(stream);
  }
  void remove(const std::shared_ptr<Stream>& stream) {
    const std::lock_guard lock(mutex);
    streams.erase(stream);
  }
  std::set<std::shared_ptr<Stream>> copy() {
    const std::lock_guard lock(mutex);
    return streams;
  }
};

WatchHub::WatchHub(const Registry& registry) : registry_(registry), open_(std::make_shared<Open>()) {}
WatchHub::~WatchHub() {
  close_all();
}

void WatchHub::open(const ObjectTarget& target, const ListOptions& options, Rendering rendering,
                    Matcher matches, std::shared_ptr<HttpExchange> exchange) {
  auto stream = std::make_shared<Stream>(registry_, target, options, rendering, std::move(matches), exchange);
  open_->add(stream);
  exchange->on_close([open = open_, weak = std::weak_ptr<Stream>(stream)] {
    if (const auto closed = weak.lock()) {
      closed->close();
      open->remove(closed);
    }
  });
  stream->start();
}

void WatchHub::tick(Time now) {
  for (const std::shared_ptr<Stream>& stream : open_->copy())
    if (!stream->tick(now)) open_->remove(stream);
}

std::size_t WatchHub::open_count() const {
  return open_->copy().size();
}

void WatchHub::close_all() {
  for (const std::shared_ptr<Stream>& stream : open_->copy()) {
    stream->close();
    open_->remove(stream);
  }
}

}  // namespace berth::server
