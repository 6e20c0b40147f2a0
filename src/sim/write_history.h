// Every write of the store in order, by resource: the source of lagging watches.
//
// Owner: one simulated world, on one thread. Cost: a pointer an event; listeners are called inside the commit
// and must only read or record.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/store.h"

namespace berth::sim {

class WriteHistory final : public store::WatchSink {
 public:
  using Listener = std::function<void(const store::WatchEvent&)>;

  explicit WriteHistory(store::Store& store);

  // The events of one resource, oldest first. The reference stays valid.
  const std::vector<store::WatchEventPtr>& of(const std::string& resource) { return shelf(resource).events; }
  // Index of the first event of the resource that is newer than `revision`.
  std::size_t behind(const std::string& resource, store::Revision revision);
  // Called after each event of the resource; of every resource when empty. Destroying the handle ends it.
  [[nodiscard]] std::shared_ptr<void> listen(const std::string& resource, Listener listener);

  void on_events(std::span<const store::WatchEventPtr> events, store::Revision) override;

 private:
  struct Shelf {
    std::vector<store::WatchEventPtr> events;
    std::vector<std::weak_ptr<Listener>> listeners;
  };
  Shelf& shelf(const std::string& resource) { return shelves_[resource]; }
  static void tell(Shelf& shelf, const store::WatchEvent& event);

  std::map<std::string, Shelf> shelves_;  // "" holds only listeners
  std::unique_ptr<store::WatchHandle> handle_;
};

}  // namespace berth::sim
