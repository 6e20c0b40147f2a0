// The integer arithmetic of the scores by resources, as kube-scheduler 1.37 does it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/plugin_arguments.h"

namespace berth::placement::plugins {

// One scored resource of a node. Beyond what a node has, `requested` counts as more than that.
struct ScoredResource {
  std::int64_t requested = 0;    // with the pod
  std::int64_t allocated = 0;    // without it
  std::int64_t allocatable = 0;  // above 0
  std::int64_t weight = 1;
};

// Of one storage class on a node: what the pod asks for, and what is there.
struct StorageUse {
  std::int64_t requested = 0, capacity = 0;
};

// 0 to 100; 0 without resources.
std::int64_t least_allocated_score(std::span<const ScoredResource> resources);
std::int64_t most_allocated_score(std::span<const ScoredResource> resources);
std::int64_t capacity_ratio_score(std::span<const ScoredResource> resources,
                                  std::span<const UtilizationPoint> shape);
// The rounded mean of the classes of storage that a node would give to the pod.
std::int64_t storage_score(std::span<const StorageUse> classes, std::span<const UtilizationPoint> shape);
// 50 to 100: how much more alike the resources' shares in use become with the pod.
std::int64_t balance_score(std::span<const ScoredResource> resources);

}  // namespace berth::placement::plugins
