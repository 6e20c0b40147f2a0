// What happens in the cluster that may help a pod which waits, as a set of bits.
#pragma once

#include <cstdint>

namespace berth::api {
struct Pod;
}  // namespace berth::api

namespace berth::scheduling {

enum Wake : std::uint32_t {
  kWakeNever = 0,
  kWakeNodeAdded = 1u << 0,
  kWakeNodeChanged = 1u << 1,
  kWakePodGone = 1u << 2,
  kWakeSliceChanged = 1u << 3,
  kWakeClassChanged = 1u << 4,
  kWakeClaimChanged = 1u << 5,
  kWakeAny = (1u << 6) - 1,
};

// The events that may resolve what a plugin refuses. Source: kube-scheduler's EventsToRegister.
struct QueueingHint {
  std::uint32_t events = kWakeNever;
  bool (*applies)(const api::Pod&) = nullptr;  // null: to every pod
};

}  // namespace berth::scheduling
