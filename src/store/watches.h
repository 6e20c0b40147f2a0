// Who watches, and handing events over to them.
//
// add() and the end of a handle come from any thread; deliver() and attend() only from the committer (or the
// one thread of a synchronous store). Cost of a commit: one call of each sink, and one copy of an event
// pointer for each resource somebody watches, however many watch it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/object_index.h"
#include "store/store.h"

namespace berth::store {

class Watches {
 public:
  // Registers a watch; attend() gives it what has happened since `from`, deliver() what happens from now on.
  Result<std::unique_ptr<WatchHandle>> add(const ObjectIndex& index, std::string resource, Revision from,
                                           WatchSink& sink);
  // Hands their backlogs to new watches.
  void attend();
  // Tells every watch about one commit, already in memory.
  void deliver(std::span<const EventPtr> events, Revision progress);

 private:
  struct Watch;
  struct Registry;
  class Handle;

  // The watches of one resource, and the events of the commit at hand that concern it.
  struct Subscribers {
    std::vector<std::shared_ptr<Watch>> watches;
    std::vector<EventPtr> events;
  };

  void refresh();

  std::shared_ptr<Registry> registry_ = make_registry();
  static std::shared_ptr<Registry> make_registry();
  // The committer's own copy of the registry, renewed when that has changed.
  std::map<std::string, Subscribers, std::less<>> subscribers_;
  std::uint64_t seen_version_ = 0;
};

}  // namespace berth::store
