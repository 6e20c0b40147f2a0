#include "sim/write_history.h"

#include <algorithm>

namespace berth::sim {

WriteHistory::WriteHistory(store::Store& store) {
  auto handle = store.watch("", store.revision(), *this);
  BERTH_ASSERT(handle.ok(), "the newest revision can always be watched");
  handle_ = std::move(handle).value();
}

std::size_t WriteHistory::behind(const std::string& resource, store::Revision revision) {
  const auto& events = shelf(resource).events;
  const auto newer = [](store::Revision of, const store::WatchEventPtr& event) {
    return of < event->object->revision;
  };
  const auto first = std::upper_bound(events.begin(), events.end(), revision, newer);
  return static_cast<std::size_t>(first - events.begin());
}

std::shared_ptr<void> WriteHistory::listen(const std::string& resource, Listener listener) {
  auto kept = std::make_shared<Listener>(std::move(listener));
  shelf(resource).listeners.push_back(kept);
  return kept;
}

void WriteHistory::tell(Shelf& shelf, const store::WatchEvent& event) {
  bool ended = false;
  // By index: a listener may add another one.
  for (std::size_t i = 0; i < shelf.listeners.size(); ++i) {
    if (const auto listener = shelf.listeners[i].lock())
      (*listener)(event);
    else
      ended = true;
  }
  if (ended) std::erase_if(shelf.listeners, [](const auto& listener) { return listener.expired(); });
}

void WriteHistory::on_events(std::span<const store::WatchEventPtr> events, store::Revision) {
  for (const store::WatchEventPtr& event : events) {
    Shelf& of = shelf(event->object->key.resource);
    of.events.push_back(event);
    tell(shelf(""), *event);
    tell(of, *event);
  }
}

}  // namespace berth::sim
