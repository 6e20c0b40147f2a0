// Pods and groups to evaluate before the next decision: each once, in the order of their first change.
//
// Owner: the scheduler, one thread. Cost: O(log n) a call.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/queue/scheduling_queue.h"

namespace berth::scheduling {

struct DirtyEntity {
  EntityKey key;
  // If nothing else of the group or tree changed: pods that joined it, by name. Empty: everything is to be
  // evaluated.
  std::vector<std::string> joined = {};
};

class DirtyEntities {
 public:
  void insert(EntityKey key) {
    const auto [at, added] = known_.try_emplace(std::move(key), order_.size());
    if (added)
      order_.push_back({at->first});
    else
      order_[at->second].joined.clear();
  }
  // A pod that did not exist before is a member of the group, or of one of the tree, now.
  void joined(EntityKey group, std::string pod) {
    const auto [at, added] = known_.try_emplace(std::move(group), order_.size());
    if (added)
      order_.push_back({at->first, {std::move(pod)}});
    else if (auto& joined = order_[at->second].joined; !joined.empty())
      joined.push_back(std::move(pod));
  }
  // Returns all and removes them.
  std::vector<DirtyEntity> take() {
    known_.clear();
    return std::exchange(order_, {});
  }
  std::size_t size() const { return order_.size(); }

 private:
  std::map<EntityKey, std::size_t> known_;  // places in order_
  std::vector<DirtyEntity> order_;
};

}  // namespace berth::scheduling
