#include "server/watch_stream.h"

#include "server/serialization.h"

namespace berth::server {
namespace {

std::string frame(std::string_view type, const std::string& object) {
  std::string line = "{\"type\":\"";
  return line.append(type).append("\",\"object\":").append(object).append("}\n");
}

}  // namespace

WatchStream::WatchStream(const Registry& registry, ObjectTarget target, ListOptions options,
                         Rendering rendering, Matcher matches, std::shared_ptr<HttpExchange> exchange)
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

void WatchStream::start() {
  exchange_->begin_stream(200, {{"Content-Type", "application/json"}});
  store::Revision from = options_.version.value_or(0);
  // sendInitialEvents=false requests only new events, also without a version.
  const bool only_news = options_.send_initial_events == false;
  if (from == 0 && only_news) from = registry_.store().revision();
  if (from == 0 || options_.send_initial_events == true) {
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

void WatchStream::on_events(std::span<const store::WatchEventPtr> events, store::Revision progress) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    progress_ = progress;
    for (const store::WatchEventPtr& event : events) {
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

bool WatchStream::tick(Time now) {
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

void WatchStream::close() {
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

bool WatchStream::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::optional<store::Revision> WatchStream::send_state() {
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
  const bool announces_end = options_.bookmarks && (options_.send_initial_events == true || options_.version);
  if (announces_end) send_bookmark(true);
  return page->revision;
}

void WatchStream::drain() {
  for (;;) {
    std::deque<store::WatchEventPtr> events;
    {
      const std::lock_guard lock(mutex_);
      draining_ = !overrun_ && !queue_.empty() && !closed_;
      if (draining_) events.swap(queue_);
      if (!draining_ && !overrun_) return;
    }
    if (events.empty()) return close();
    for (const store::WatchEventPtr& event : events)
      if (!send(*event)) return close();
  }
}

bool WatchStream::send(const store::WatchEvent& event) {
  const bool deleted = event.kind == store::WatchEvent::Kind::Deleted;
  const bool now_in = !deleted && (!matches_ || matches_(*event.object));
  const bool was_in = event.previous && (!matches_ || matches_(*event.previous));
  if (!now_in && !was_in) return true;
  if (now_in) return exchange_->send(frame(was_in ? "MODIFIED" : "ADDED", shown(event.object)));
  return exchange_->send(frame("DELETED", deleted ? shown(event.object) : shown(left_behind(event))));
}

store::ObjectPtr WatchStream::left_behind(const store::WatchEvent& event) {
  auto object = std::make_shared<store::Object>(*event.previous);
  const std::string old_version = "\"resourceVersion\":\"" + std::to_string(event.previous->revision) + "\"";
  const std::size_t at = object->bytes.find(old_version);
  if (at != std::string::npos)
    object->bytes.replace(at, old_version.size(),
                          "\"resourceVersion\":\"" + std::to_string(event.object->revision) + "\"");
  object->revision = event.object->revision;
  return object;
}

std::string WatchStream::shown(const store::ObjectPtr& object) {
  if (rendering_.form == Form::Metadata) return metadata_bytes(object->bytes);
  if (rendering_.form == Form::Object) return object_bytes(*target_.resource, object->bytes);
  const bool first = !std::exchange(columns_sent_, true);
  const std::string metadata = "{\"resourceVersion\":\"" + std::to_string(object->revision) + "\"}";
  return table_bytes(*target_.resource, {object}, rendering_, metadata, registry_.dependencies().clock.now(),
                     first);
}

void WatchStream::send_bookmark(bool ends_initial_events) {
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

}  // namespace berth::server
