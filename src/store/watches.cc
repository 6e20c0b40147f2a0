#include "store/watches.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace berth::store {
namespace {

// The JSON string at `at`, quotes included; empty when there is none.
std::string_view string_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '"') return {};
  for (std::size_t end = at + 1; end < text.size(); ++end) {
    if (text[end] == '\\')
      ++end;
    else if (text[end] == '"')
      return text.substr(at, end + 1 - at);
  }
  return {};
}

// Every string value of that member, at any depth.
template <class Visit>
void for_each_value(std::string_view text, std::string_view member, Visit visit) {
  while (const void* found = memmem(text.data(), text.size(), member.data(), member.size())) {
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    text.remove_prefix(at + member.size());
    visit(string_at(text, 0));
  }
}

}  // namespace

struct Watches::Watch {
  std::string resource;
  MemberFilter filter;
  // Held while the sink is called, so that the handle's destructor waits for it. Recursive: a sink may end
  // its own watch.
  std::recursive_mutex mutex;
  WatchSink* sink = nullptr;  // null: ended
  std::vector<WatchEventPtr> backlog;
  Revision backlog_revision = 0;
  Revision delivered = 0;                  // every event up to here was delivered or not requested
  bool greeted = false;                    // the backlog was delivered
  std::atomic<bool> is_caught_up = false;  // and the sink has returned from it

  void greet() {
    greet_sink();
    is_caught_up.store(true, std::memory_order_release);
  }

  void greet_sink() {
    greeted = true;
    const std::vector<WatchEventPtr> events = std::move(backlog);
    backlog.clear();
    if (backlog_revision < delivered) return;
    delivered = backlog_revision;
    if (sink != nullptr) sink->on_events(events, delivered);
  }

  void hand_over(std::span<const WatchEventPtr> events, Revision progress) {
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
  std::vector<std::shared_ptr<Watch>> new_watches;  // attend() has not processed them yet
  std::atomic<std::uint64_t> version = 0;
  std::atomic<Revision> progress = 0;  // of the last commit that was delivered
};

void Watches::Group::hand_over(std::span<const WatchEventPtr> theirs, Revision progress) const {
  for (const std::shared_ptr<Watch>& watch : watches) watch->hand_over(theirs, progress);
}

void Watches::Subscribers::sort(const WatchEventPtr& event) {
  if (!unfiltered.watches.empty()) unfiltered.events.push_back(event);
  for (auto& [member, groups] : filtered) {
    const auto concern = [&, &groups = groups](std::string_view value) {
      const auto found = groups.find(value);
      if (found == groups.end()) return;
      Group& group = found->second;
      if (group.events.empty()) concerned.push_back(&group);
      if (group.events.empty() || group.events.back() != event) group.events.push_back(event);
    };
    for_each_value(event->object->bytes, member, concern);
    if (event->previous) for_each_value(event->previous->bytes, member, concern);
  }
}

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

  Revision progress() const override {
    const bool known = watch_->is_caught_up.load(std::memory_order_acquire);
    return known ? registry_->progress.load(std::memory_order_acquire) : 0;
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
  watch->filter = sink.filter();
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
  for (const std::shared_ptr<Watch>& watch : registry_->watches) {
    Subscribers& subscribers = subscribers_[watch->resource];
    const MemberFilter& filter = watch->filter;
    Group& group = filter.member.empty() || watch->resource.empty()
                       ? subscribers.unfiltered
                       : subscribers.filtered[filter.member][filter.value];
    group.watches.push_back(watch);
  }
}

void Watches::deliver(std::span<const WatchEventPtr> events, Revision progress) {
  refresh();
  for (const WatchEventPtr& event : events)
    if (const auto found = subscribers_.find(event->object->key.resource); found != subscribers_.end())
      found->second.sort(event);
  for (auto& [resource, subscribers] : subscribers_) {
    Group& unfiltered = subscribers.unfiltered;
    unfiltered.hand_over(resource.empty() ? events : unfiltered.events, progress);
    unfiltered.events.clear();
    for (Group* group : subscribers.concerned) {
      group->hand_over(group->events, progress);
      group->events.clear();
    }
    subscribers.concerned.clear();
  }
  registry_->progress.store(progress, std::memory_order_release);
}

}  // namespace berth::store
