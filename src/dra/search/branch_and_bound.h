// From the first solution to the best: other devices for the same alternatives, cheapest first, without
// branches that cannot cost less than the best so far.
//
// Owner: one Search, for one run. Cost: two bounds, about 5 ms; when one is reached, the best allocation so
// far is the result (at first the one that the search found). Source: branch and bound; docs/devices.md,
// "Which of several".
#pragma once

#include <vector>

#include "dra/search/device_trial.h"
#include "dra/search/fragmentation_score.h"

namespace berth::dra {

// The most allocations compared for one decision, and the most devices tried for them.
inline constexpr std::size_t kAllocationsComparedMax = 512;
inline constexpr std::size_t kScoringTriesMax = 8192;

class BranchAndBound {
 public:
  // The state must have a solution. What the trial refuses is not recorded.
  BranchAndBound(SearchContext& context, SearchState& state, DeviceTrial& trial,
                 std::size_t tries_max = kScoringTriesMax)
      : context_(context),
        state_(state),
        trial_(trial),
        tries_max_(tries_max),
        fragmentation_(context.cluster, *context.devices) {}

  // Whether allocations on the node can score differently, and another order of trials is allowed there: no
  // device has a negative draw.
  static bool applies_to(const NodeDevices& devices);

  // Leaves the best allocation found in the state, its picks in the order of requests and devices. Its steps
  // are added to the context's, beyond the budget.
  void improve();

 private:
  // One request, in the order of the allocation request, with the alternative that the search found.
  struct Wanted {
    RequestRef at;
    std::size_t count = 0;
    std::vector<AllocationScore> least;  // by the number of missing devices
    AllocationScore later;               // the sum of the least scores of all later requests
    std::vector<DeviceRef> left_out;     // tried before, in this request
  };
  struct Chosen {
    RequestRef at;
    DeviceRef place;
  };
  // A candidate for the next device, and the score with it.
  struct Option {
    DeviceRef place;
    AllocationScore score;
  };

  bool find_wanted();
  bool find_least(Wanted& wanted);
  std::vector<DeviceRef> candidates(RequestRef at, std::size_t taken) const;
  std::vector<Option> options(const Wanted& wanted, std::size_t taken);
  void branch(std::size_t request, std::size_t taken);
  void keep_as_best();
  void restore_best();
  void count_in(const Pick& pick);
  void count_out(const Pick& pick);
  bool is_at_a_bound() const { return compared_ >= kAllocationsComparedMax || tried_ >= tries_max_; }

  SearchContext& context_;
  SearchState& state_;
  DeviceTrial& trial_;
  const std::size_t tries_max_;
  FragmentationScore fragmentation_;
  std::vector<Wanted> wanted_;
  std::vector<Chosen> best_;
  AllocationScore best_score_;
  std::size_t compared_ = 0, tried_ = 0;
};

}  // namespace berth::dra
