// The open watches, and the delivery of events to them.
//
// add() and the destruction of a handle may happen on any thread; deliver() and attend() only on the
// committer (or the one thread of a synchronous store). Cost of a commit: one call of each sink without a
// filter, and one copy of an event pointer for each watched resource, however many watch it. Of sinks with a
// filter only those that it concerns: an event is searched once for each filtered member, and each value that
// it has is looked up.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/object_index.h"
#include "store/store.h"

namespace berth::store {

class Watches {
 public:
  // Registers a watch; attend() delivers the events since `from`, deliver() the later ones.
  Result<std::unique_ptr<WatchHandle>> add(const ObjectIndex& index, std::string resource, Revision from,
                                           WatchSink& sink);
  // Delivers their backlogs to new watches.
  void attend();
  // Delivers one commit, already in the index, to every watch.
  void deliver(std::span<const WatchEventPtr> events, Revision progress);

 private:
  struct Watch;
  struct Registry;
  class Handle;

  // Watches, and the events of the current commit for them.
  struct Group {
    std::vector<std::shared_ptr<Watch>> watches;
    std::vector<WatchEventPtr> events;
    void hand_over(std::span<const WatchEventPtr> theirs, Revision progress) const;
  };
  // The groups of one filtered member, by value; a key is a view into one of the group's watches.
  using Groups = std::unordered_map<std::string_view, Group>;
  // The watches of one resource.
  struct Subscribers {
    Group unfiltered;
    std::map<std::string, Groups, std::less<>> filtered;  // by member
    std::vector<Group*> concerned;                        // filtered groups with events
    void sort(const WatchEventPtr& event);
  };

  void refresh();

  std::shared_ptr<Registry> registry_ = make_registry();
  static std::shared_ptr<Registry> make_registry();
  // The committer's own copy of the registry, renewed when the registry has changed.
  std::map<std::string, Subscribers, std::less<>> subscribers_;
  std::uint64_t seen_version_ = 0;
};

}  // namespace berth::store
