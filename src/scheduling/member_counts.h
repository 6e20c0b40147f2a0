// How many members the groups of an entry have, where the gate follows from that: a pod that joins only
// changes a count, unless its group is complete with it.
//
// Noted when the whole entry is evaluated, and forgotten when anything but a new member changes. Owner: the
// EntryGate, one thread. Cost: O(log n) a pod that joins, O(groups) an entry that is noted. Memory:
// proportional to the groups that wait.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "placement/entity.h"
#include "placement/refusal/gate.h"

namespace berth::scheduling {

class MemberCounts {
 public:
  struct Members {
    std::int32_t alive = 0, wanted = 0;
    bool waits = false;  // one of them
  };
  struct CountedEntity {
    std::optional<placement::GroupGate> held;  // too few members, or groups; none: the entry may be tried
    std::map<std::string, Members> groups;
  };

  void note(const placement::EntityKey& key, CountedEntity entity) {
    entries_.insert_or_assign(key, std::move(entity));
  }
  void forget(const placement::EntityKey& key) { entries_.erase(key); }
  // Null: unknown.
  const CountedEntity* find(const placement::EntityKey& key) const;
  // One pod more in the group, which `held` says too. False: the gate may be another one now.
  bool join(const placement::EntityKey& key, const std::string& group);

 private:
  std::unordered_map<placement::EntityKey, CountedEntity, placement::EntityKeyHash> entries_;
};

}  // namespace berth::scheduling
