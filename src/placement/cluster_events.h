// Changes of the cluster that may help a waiting pod, as a set of bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::api {
struct Pod;
}  // namespace berth::api

namespace berth::placement {

inline constexpr std::size_t kClusterEventCount = 17;

enum ClusterEvent : std::uint32_t {
  kEventNever = 0,
  kEventNodeAdded = 1u << 0,
  kEventNodeGone = 1u << 1,
  kEventNodeAllocatable = 1u << 2,
  kEventNodeLabels = 1u << 3,
  kEventNodeTaints = 1u << 4,      // or spec.unschedulable
  kEventNodeFeatures = 1u << 5,    // status.declaredFeatures
  kEventNodePreemption = 1u << 6,  // spec.podPreemptionPolicy
  kEventPodGone = 1u << 7,
  kEventSliceChanged = 1u << 8,
  kEventClassChanged = 1u << 9,
  kEventClaimChanged = 1u << 10,
  kEventVolumeChanged = 1u << 11,  // volumes, their claims, classes, capacities and drivers
  kEventPodPlaced = 1u << 12,
  kEventPodRelabelled = 1u << 13,     // one that has a place
  kEventNamespaceChanged = 1u << 14,  // a term of inter-pod affinity selects other namespaces
  kEventPodResized = 1u << 15,        // one that has a place and may ask for less
  kEventSelectorChanged = 1u << 16,   // of a Service or a controller: default spreading counts other pods
  kEventAny = (1u << kClusterEventCount) - 1,
  kEventNodeChanged = kEventNodeGone | kEventNodeAllocatable | kEventNodeLabels | kEventNodeTaints |
                      kEventNodeFeatures | kEventNodePreemption,
  // What a hold, a decision or a request may free when it ends.
  kEventRoomFreed = kEventPodGone | kEventClaimChanged,
};

// The events that may make a plugin accept a pod that it refused. Source: kube-scheduler's EventsToRegister.
struct QueueingHint {
  std::uint32_t events = kEventNever;
  bool (*applies)(const api::Pod&) = nullptr;  // null: to every pod
};

}  // namespace berth::placement
