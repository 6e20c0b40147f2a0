// Pods and groups to evaluate before the next decision: each once, in the order of their first change.
//
// Owner: the scheduler, one thread. Cost: O(log n) a call.
#pragma once

#include <set>
#include <vector>

#include "scheduling/queue/scheduling_queue.h"

namespace berth::scheduling {

class DirtyEntities {
 public:
  void insert(EntityKey key) {
    if (known_.insert(key).second) order_.push_back(std::move(key));
  }
  // Returns all and removes them.
  std::vector<EntityKey> take() {
    known_.clear();
    return std::exchange(order_, {});
  }
  std::size_t size() const { return order_.size(); }

 private:
  std::set<EntityKey> known_;
  std::vector<EntityKey> order_;
};

}  // namespace berth::scheduling
