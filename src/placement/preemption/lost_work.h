// What the eviction of a pod throws away: the devices that it holds, times how long ago it saved its work.
//
// Pure: the time comes with the context. Source: outer surface, annotation
// scheduling.berth.dev/last-checkpoint. A workload writes it on its pods, on their group or on a tree of
// groups, after each checkpoint.
#pragma once

#include <optional>

#include "placement/pod_query.h"

namespace berth::placement {

// A checkpoint that is later than now by more than this is none: clocks differ less.
inline constexpr Duration kCheckpointSkewMax = Duration::minutes(1);

struct LastCheckpoint {
  std::optional<Time> at;  // none: there is no checkpoint
  bool invalid = false;    // the annotation is no time, or a later one than now
};
// By the annotation kLastCheckpointAnnotation of the pod, else of its group, else of the nearest composite
// group above. Cost: O(levels of groups).
LastCheckpoint last_checkpoint(const client::View& view, const api::Pod& pod, Time now);

// In hundredths of a device: each unit of an extended resource that the node offers, each device of an
// allocated claim, and shares of GPUs. What several pods share counts for each of them.
std::int64_t held_devices(const model::Cluster& cluster, PodId pod);

// In hundredths of a device times seconds, since the later one of the last checkpoint and the start. 0 for a
// pod that has not started, and wherever lost work does not count. The pod is on a node in the ledger.
__int128 lost_work(const SchedulingContext& context, PodId pod);

}  // namespace berth::placement
