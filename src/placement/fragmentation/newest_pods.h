// Some live pods, the newest first, those of equal age by key. What a workload is learned from is the newest
// pods that ask for something: a heap gives them without a sort, and what the others ask for is not read.
//
// Owner: one look, one thread. Cost: O(pods), then O(log pods) for each that is taken.
#pragma once

#include <algorithm>
#include <vector>

#include "model/cluster.h"

namespace berth::placement {

class NewestPods {
 public:
  // Those that `may_ask` accepts. The cluster outlives it, and does not change.
  template <class MayAsk>
  NewestPods(const model::Cluster& cluster, const MayAsk& may_ask) : pods_(cluster.pods()) {
    for (std::uint32_t i = 0; i < pods_.size(); ++i)
      if (pods_[i].live && may_ask(pods_[i])) heap_.push_back({pods_[i].live->meta.created, i});
    std::ranges::make_heap(heap_, later());
  }
  // Null: there are no more.
  const model::PodRow* take() {
    if (heap_.empty()) return nullptr;
    std::ranges::pop_heap(heap_, later());
    const model::PodRow* row = &pods_[heap_.back().row];
    heap_.pop_back();
    return row;
  }

 private:
  struct Aged {
    Time created;
    std::uint32_t row = 0;  // of pods_
  };
  // Whether `a` is taken after `b`.
  struct Later {
    const std::vector<model::PodRow>& pods;
    bool operator()(const Aged& a, const Aged& b) const {
      return a.created != b.created ? a.created < b.created : pods[b.row].key < pods[a.row].key;
    }
  };
  Later later() const { return {pods_}; }

  const std::vector<model::PodRow>& pods_;
  std::vector<Aged> heap_;
};

}  // namespace berth::placement
