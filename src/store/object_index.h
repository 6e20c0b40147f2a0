// Every current object, and the window of past events for watches and lists of old revisions.
//
// Owner: the committer, the only writer. Any thread may read: a reader holds the lock shared while it takes a
// snapshot or finds one object, never while it iterates, filters or waits. The committer holds it exclusively
// while it enters one commit, which is already durable. So readers wait microseconds, and never for the disk.
// A list of an old revision and a new watch copy pointers to the events since then under the lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/cow_table.h"
#include "store/store.h"

namespace berth::store {

class ObjectIndex {
 public:
  ObjectIndex(std::size_t window_events_max, std::size_t window_bytes_max)
      : window_events_max_(window_events_max), window_bytes_max_(window_bytes_max) {}

  // Fills an empty index; the window starts at `revision`. Two objects of one key are Internal.
  Status load(std::vector<ObjectPtr> objects, Revision revision);

  // The committer's own reads and its only change: the events of a commit, by revision, all newer than
  // revision().
  ObjectPtr current(const Key& key) const;
  void publish(std::span<const WatchEventPtr> events);

  // As in store.h.
  ObjectPtr get(const Key& key) const;
  Result<ListPage> list(const ListQuery& query) const;
  Revision revision() const { return revision_.load(std::memory_order_acquire); }
  Revision oldest_watchable() const;
  std::size_t count(std::string_view resource) const;

  Result<std::unique_ptr<Cursor>> open_cursor(const ListQuery& query) const;
  // Cost: what it returns.
  Result<EventPage> events_behind(std::string_view resource, Revision from, std::size_t limit) const;

 private:
  struct ResourceIndex {
    std::shared_ptr<CowTable> table = std::make_shared<CowTable>();
    std::uint64_t epoch = 0;
    mutable std::atomic<bool> lent = false;  // a snapshot of `table` was taken in this epoch
    std::deque<WatchEventPtr> events;        // the window's events of this resource
  };
  struct WindowEvent {
    WatchEventPtr event;
    ResourceIndex* resource_index;
  };
  struct Snapshot {
    std::shared_ptr<const CowTable> table;
    std::vector<WatchEventPtr> newer;  // to be undone
    Revision revision = 0;
  };

  const ResourceIndex* resource_index(std::string_view resource) const;
  static CowTable& own_table(ResourceIndex& resource_index);
  // Takes out what the bounds do not leave room for; to be freed after the lock.
  std::vector<WatchEventPtr> shorten_window(Revision newest_commit);
  Status check_kept(Revision from) const;
  Result<Snapshot> snapshot(const ListQuery& query) const;

  mutable std::shared_mutex mutex_;
  const std::size_t window_events_max_;
  const std::size_t window_bytes_max_;
  std::map<std::string, ResourceIndex, std::less<>>
      resource_indexes_;            // entries are never removed: the window points at them
  std::deque<WindowEvent> window_;  // by revision
  std::size_t window_bytes_ = 0;
  Revision oldest_watchable_ = 0;
  std::atomic<Revision> revision_ = 0;
};

}  // namespace berth::store
