// What to look at before the next decision: each once, in the order in which something happened to it first.
//
// Owner: the scheduler, one thread. Cost: O(log n) a call.
#pragma once

#include <set>
#include <vector>

#include "scheduling/scheduling_queue.h"

namespace berth::scheduling {

class DirtyEntities {
 public:
  void insert(EntityKey key) {
    if (known_.insert(key).second) order_.push_back(std::move(key));
  }
  // All of them; none are left.
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
