#include "store/watches.h"

#include <algorithm>
#include <limits>

namespace berth::store {

struct Watches::Watch {
  std::string resource;
  // Held while the sink is called, so that the end of the handle waits for it. Recursive: a sink may end its
  // own watch.
  std::recursive_mutex mutex;
  WatchSink* sink = nullptr;  // null: ended
  std::vector<EventPtr> backlog;
  Revision backlog_revision = 0;
  Revision delivered = 0;  // everything up to here has been handed over or was not asked for
  bool greeted = false;    // the backlog has been handed over

  void greet() {
    greeted = true;
    const std::vector<EventPtr> events = std::move(backlog);
    backlog.clear();
    if (backlog_revision < delivered) return;
    delivered = backlog_revision;
    if (sink != nullptr) sink->on_events(events, delivered);
  }

  void hand_over(std::span<const EventPtr> events, Revision progress) {
    std::lock_guard lock(mutex);
    if (!greeted) greet();
    if (sink == nullptr || progress <= delivered) return;
    while (!events.empty() && events.front()->object->revision <= delivered) events = events.subspan(1);
    delivered = progress;
    sink->on_events(events, progress);
  }
};

struct Watches::Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Watch>> watches;
  std::vector<std::shared_ptr<Watch>> new_watches;  // not yet attended
  std::atomic<std::uint64_t> version = 0;
};

class Watches::Handle final : public WatchHandle {
 public:
  Handle(std::shared_ptr<Registry> registry, std::shared_ptr<Watch> watch)
      : registry_(std::move(registry)), watch_(std::move(watch)) {}

  ~Handle() override {
    {
      std::lock_guard lock(watch_->mutex);
      watch_->sink = nullptr;
    }
    std::lock_guard lock(registry_->mutex);
    std::erase(registry_->watches, watch_);
    registry_->version.fetch_add(1, std::memory_order_release);
  }

 private:
  std::shared_ptr<Registry> registry_;
  std::shared_ptr<Watch> watch_;
};

std::shared_ptr<Watches::Registry> Watches::make_registry() {
  return std::make_shared<Registry>();
}

Result<std::unique_ptr<WatchHandle>> Watches::add(const ObjectIndex& index, std::string resource,
                                                  Revision from, WatchSink& sink) {
  auto watch = std::make_shared<Watch>();
  watch->resource = std::move(resource);
  watch->sink = &sink;
  // One step for the committer: a commit is either in the backlog or finds the watch registered.
  std::lock_guard lock(registry_->mutex);
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  EventPage backlog = TRY(index.events_behind(watch->resource, from, kAll));
  watch->backlog = std::move(backlog.events);
  watch->backlog_revision = backlog.through;
  watch->delivered = from;
  registry_->watches.push_back(watch);
  registry_->new_watches.push_back(watch);
  registry_->version.fetch_add(1, std::memory_order_release);
  return std::unique_ptr<WatchHandle>(std::make_unique<Handle>(registry_, std::move(watch)));
}

void Watches::attend() {
  std::vector<std::shared_ptr<Watch>> fresh;
  {
    std::lock_guard lock(registry_->mutex);
    fresh.swap(registry_->new_watches);
  }
  for (const std::shared_ptr<Watch>& watch : fresh) {
    std::lock_guard lock(watch->mutex);
    if (!watch->greeted) watch->greet();
  }
}

void Watches::refresh() {
  if (registry_->version.load(std::memory_order_acquire) == seen_version_) return;
  std::lock_guard lock(registry_->mutex);
  seen_version_ = registry_->version.load(std::memory_order_relaxed);
  subscribers_.clear();
  for (const std::shared_ptr<Watch>& watch : registry_->watches)
    subscribers_[watch->resource].watches.push_back(watch);
}

void Watches::deliver(std::span<const EventPtr> events, Revision progress) {
  refresh();
  if (subscribers_.empty()) return;
  for (const EventPtr& event : events) {
    const auto found = subscribers_.find(event->object->key.resource);
    if (found != subscribers_.end()) found->second.events.push_back(event);
  }
  for (auto& [resource, subscribers] : subscribers_) {
    const std::span<const EventPtr> theirs =
        resource.empty() ? events : std::span<const EventPtr>(subscribers.events);
    for (const std::shared_ptr<Watch>& watch : subscribers.watches) watch->hand_over(theirs, progress);
    subscribers.events.clear();
  }
}

}  // namespace berth::store
