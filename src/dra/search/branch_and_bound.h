// What a comparison of allocations remembers: the best one so far, and how little the rest can cost.
//
// Owner: one Search, for one run. Both bounds end the comparison with the best allocation so far, which is at
// first the one that the search found.
#pragma once

#include <vector>

#include "dra/search/fragmentation_score.h"

namespace berth::dra {

// Allocations of one decision that are compared, and devices that are tried for them. About 5 ms.
inline constexpr std::size_t kAllocationsComparedMax = 512;
inline constexpr std::size_t kScoringTriesMax = 8192;

struct BranchAndBound {
  BranchAndBound(const model::Cluster& cluster, NodeDevices& devices) : fragmentation(cluster, devices) {}

  // One request, in the order of the allocation request, with the alternative that the search found.
  struct Wanted {
    std::uint32_t claim = 0, request = 0, alternative = 0;
    std::size_t count = 0;
    std::vector<AllocationScore> least;  // by how many devices are missing
    AllocationScore later;               // the least of all requests behind it
    std::vector<DeviceRef> left_out;     // tried before, in this request
  };
  struct Chosen {
    std::uint32_t claim = 0, request = 0, alternative = 0;
    DeviceRef place;
  };
  // A device that would do next, and the score with it.
  struct Option {
    DeviceRef place;
    AllocationScore score;
  };

  FragmentationScore fragmentation;
  std::vector<Wanted> wanted;
  std::vector<Chosen> best;
  AllocationScore best_score;
  std::size_t compared = 0, tried = 0;

  bool at_its_end() const { return compared >= kAllocationsComparedMax || tried >= kScoringTriesMax; }
};

}  // namespace berth::dra
