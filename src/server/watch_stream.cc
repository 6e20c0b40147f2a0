#include "server/watch_stream.h"

#include "base/log.h"
#include "crd/served_version.h"
#include "server/object_versions.h"
#include "server/served.h"

namespace berth::server {
namespace {

constexpr int kWatchTriesMax = 8;

}  // namespace

WatchStream::WatchStream(const Registry& registry, ObjectTarget target, ListOptions options,
                         Rendering rendering, Matcher matches, std::shared_ptr<HttpExchange> exchange)
    : registry_(registry),
      target_(std::move(target)),
      options_(std::move(options)),
      matches_(std::move(matches)),
      exchange_(std::move(exchange)),
      frames_(*target_.resource, rendering) {
  const Time now = registry_.dependencies().clock.monotonic();
  ends_at_ = now + Duration::seconds(options_.timeout_s > 0 ? options_.timeout_s : kWatchTimeoutDefaultS);
  bookmark_at_ = now + Duration::seconds(kBookmarkPeriodS);
  future_until_ = now + Duration::seconds(kFutureVersionWaitS);
}

bool WatchStream::set_out() {
  const store::Store& store = registry_.store();
  const store::Revision from = options_.version.value_or(0);
  {
    const std::lock_guard lock(mutex_);
    ahead_ = from > store.revision();
  }
  const bool wants_state = options_.send_initial_events.value_or(from == 0);
  if (wants_state && from > store.revision()) {
    refuse(too_large_version(from, store.revision()));
    return false;
  }
  position_ = from == 0 ? store.revision() : from;
  if (wants_state) {
    store::ListQuery query;
    query.resource = resource();
    query.ns = target_.ns;
    query.accept = matches_.selects;
    state_.emplace(ListReader::open(registry_, target_, query).value());  // the newest state is always there
    position_ = state_->revision();
  }
  return true;
}

void WatchStream::start() {
  exchange_->begin_stream(200, {{"Content-Type", std::string(frames_.content_type())}});
  if (!set_out()) return close();
  // Only for its calls: the events themselves are read from the window, behind position_. The window lacks
  // what was newest a moment ago only when it holds next to nothing.
  for (int tries = 0; tries < kWatchTriesMax; ++tries) {
    auto handle = registry_.store().watch(resource(), registry_.store().revision(), *this);
    if (!handle) continue;
    {
      const std::lock_guard lock(mutex_);
      if (!closed_) handle_ = std::move(handle).value();
    }
    return post_turn();
  }
  overtaken();
  close();
}

void WatchStream::on_events(std::span<const store::WatchEventPtr> events, store::Revision) {
  bool concerned = false;
  for (const store::WatchEventPtr& event : events) concerned |= may_be_shown(*event);
  if (concerned) wake();
}

bool WatchStream::tick(Time now) {
  bool stuck = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    ending_ |= now >= ends_at_;
    const bool due = options_.bookmarks && (ending_ || now >= bookmark_at_);
    if (due) bookmark_at_ = now + Duration::seconds(kBookmarkPeriodS);
    bookmark_due_ |= due;
    stuck = ending_ && full_;
    const bool waited = ahead_ && now >= future_until_;
    if (!ending_ && !bookmark_due_ && !waited) return true;
  }
  if (stuck)
    close();
  else
    wake();
  return !closed();
}

bool WatchStream::is_replaced(const ServedSet& served) const {
  const api::ResourceInfo& began = *target_.resource;
  if (!began.custom) return false;
  const api::ResourceInfo* now = served.find(began.group, began.version, began.plural);
  const crd::ServedVersion* custom = now ? crd::served_version(*now) : nullptr;
  return !custom || !crd::is_same_resource(*crd::served_version(began)->definition, *custom->definition);
}

void WatchStream::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake();
}

void WatchStream::wake() {
  {
    const std::lock_guard lock(mutex_);
    news_ = true;
    if (closed_ || std::exchange(taking_turns_, true)) return;
    // A watch at rest has sent what concerns it, so its position follows the others' events.
    if (handle_) skipped_to_ = std::max(skipped_to_, handle_->progress());
  }
  post_turn();
}

void WatchStream::post_turn() {
  if (auto self = weak_from_this().lock())
    post_for(target_, registry_.dependencies().executor, [self = std::move(self)] { self->take_turn(); });
}

void WatchStream::take_turn() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    news_ = false;
    full_ = false;
    position_ = std::max(position_, skipped_to_);
  }
  Turn turn = state_ ? send_state() : send_events();
  if (turn == Turn::Idle) turn = come_to_rest();
  switch (turn) {
    case Turn::More:
      return post_turn();
    case Turn::Full: {
      {
        const std::lock_guard lock(mutex_);
        full_ = true;
      }
      return exchange_->on_room([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->post_turn();
      });
    }
    case Turn::Ended:
      return close();
    case Turn::Idle:
      return;
  }
}

bool WatchStream::concerns(const store::Key& key) const {
  return (target_.ns.empty() || key.ns == target_.ns) && (target_.name.empty() || key.name == target_.name);
}

// Also of what an event's object was: it may leave the selection. A webhook may change labels.
bool WatchStream::may_be_shown(const store::WatchEvent& event) const {
  if (!concerns(event.object->key)) return false;
  if (!matches_.may_select || is_shaped_by_reads(target_)) return true;
  return matches_.may_select(*event.object) || (event.previous && matches_.may_select(*event.previous));
}

WatchStream::Turn WatchStream::send_state() {
  if (registry_.store().oldest_watchable() > position_) return overtaken();
  for (std::size_t seen = 0; seen < kWatchTurnMax; ++seen) {
    if (!exchange_->has_room()) return Turn::Full;
    const ApiResult<store::ObjectPtr> object = state_->look();
    if (!object) return refuse(object.error());
    if (state_->at_end()) return end_state();
    if (*object && !send_object("ADDED", *object)) return Turn::Ended;
  }
  return Turn::More;
}

WatchStream::Turn WatchStream::end_state() {
  state_.reset();
  if (options_.bookmarks && (options_.send_initial_events == true || options_.version)) send_bookmark(true);
  return Turn::More;
}

ApiResult<std::vector<store::WatchEvent>> WatchStream::converted(
    std::span<const store::WatchEventPtr> events) const {
  std::vector<store::ObjectPtr> objects;
  for (const store::WatchEventPtr& event : events) {
    const bool meant = concerns(event->object->key);
    objects.push_back(meant ? event->object : nullptr);
    objects.push_back(meant ? event->previous : nullptr);
  }
  objects = TRY(in_request_version(target_, std::move(objects)));
  std::vector<store::WatchEvent> shown;
  for (std::size_t i = 0; i < events.size(); ++i)
    shown.push_back({events[i]->kind, objects[2 * i], objects[2 * i + 1]});
  return shown;
}

WatchStream::Turn WatchStream::send_events() {
  const Result<store::EventPage> page = registry_.store().events(resource(), position_, kWatchTurnMax);
  if (!page) return overtaken();
  if (is_shaped_by_reads(target_) && !page->events.empty()) return send_converted_events(page->events);
  for (const store::WatchEventPtr& event : page->events) {
    if (!exchange_->has_room()) return Turn::Full;
    if (concerns(event->object->key) && !send(*event)) return Turn::Ended;
    position_ = event->object->revision;
  }
  position_ = std::max(position_, page->through);
  return page->events.empty() ? Turn::Idle : Turn::More;
}

WatchStream::Turn WatchStream::send_converted_events(std::span<const store::WatchEventPtr> events) {
  if (!exchange_->has_room()) return Turn::Full;
  const ApiResult<std::vector<store::WatchEvent>> shown = converted(events);
  if (!shown) return refuse(shown.error());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!exchange_->has_room()) return Turn::Full;
    if (concerns(events[i]->object->key) && !send((*shown)[i])) return Turn::Ended;
    position_ = events[i]->object->revision;
  }
  return Turn::More;
}

// Everything has been sent. Nothing is left to do unless there was news meanwhile.
WatchStream::Turn WatchStream::come_to_rest() {
  const store::Revision newest = registry_.store().revision();
  const bool ahead = position_ > newest;
  if (ahead && registry_.dependencies().clock.monotonic() >= future_until_)
    return refuse(too_large_version(position_, newest));
  bool bookmark = false;
  bool ending = false;
  {
    const std::lock_guard lock(mutex_);
    ahead_ = ahead;
    bookmark = std::exchange(bookmark_due_, false) && !ahead;
    ending = ending_;
  }
  if (bookmark) send_bookmark(false);
  if (ending) return Turn::Ended;
  const std::lock_guard lock(mutex_);
  if (news_) return Turn::More;
  taking_turns_ = false;
  return Turn::Idle;
}

WatchStream::Turn WatchStream::refuse(const ApiStatus& status) {
  exchange_->send(frames_.error(status));
  return Turn::Ended;
}

// A watch that begins behind the window is told so; one that was overtaken read too slowly.
WatchStream::Turn WatchStream::overtaken() {
  const store::Revision oldest = registry_.store().oldest_watchable();
  if (options_.version.value_or(0) != position_)
    log(LogLevel::Warning, "a watch was cut: more happened than is kept before its peer had read it",
        {{"resource", resource()},
         {"namespace", target_.ns},
         {"version", std::to_string(position_)},
         {"oldest_version", std::to_string(oldest)}});
  return refuse(expired("too old resource version: " + std::to_string(position_) + " (" +
                        std::to_string(oldest) + ")"));
}

void WatchStream::close() {
  std::unique_ptr<store::WatchHandle> handle;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    handle = std::move(handle_);
  }
  exchange_->end_stream();
}

bool WatchStream::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

bool WatchStream::send(const store::WatchEvent& event) {
  const bool deleted = event.kind == store::WatchEvent::Kind::Deleted;
  const bool now_in = !deleted && (!matches_.selects || matches_.selects(*event.object));
  const bool was_in = event.previous && (!matches_.selects || matches_.selects(*event.previous));
  if (!now_in && !was_in) return true;
  if (now_in) return send_object(was_in ? "MODIFIED" : "ADDED", event.object);
  return send_object("DELETED", deleted ? event.object : left_behind(event));
}

bool WatchStream::send_object(std::string_view type, const store::ObjectPtr& object) {
  ApiResult<std::string> frame = frames_.of_object(type, object, registry_.dependencies().clock.now());
  if (frame) return exchange_->send(*std::move(frame));
  refuse(frame.error());
  return false;
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

void WatchStream::send_bookmark(bool ends_initial_events) {
  if (position_ > 0)
    exchange_->send(frames_.bookmark(position_, ends_initial_events, registry_.dependencies().clock.now()));
}

}  // namespace berth::server
