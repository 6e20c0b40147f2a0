// What came of the search for pods of lower priority that could be evicted for the pod.
//
// Values without pointers into the attempt, as refusal.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::placement {

// How long a pod waits before it evicts others: time for an autoscaler to add a node. A Go duration.
inline constexpr std::string_view kPreemptionDelayAnnotation = "scheduling.berth.dev/preemption-delay";
// When a workload saved its work last, in RFC 3339: what it has done since is lost by an eviction.
inline constexpr std::string_view kLastCheckpointAnnotation = "scheduling.berth.dev/last-checkpoint";
// Pods that one sentence names.
inline constexpr std::size_t kVictimsNamedMax = 8;

// What kube-scheduler says about evicting others.
enum class Preemption : std::uint8_t {
  NotTried,  // for a member: its group is asked; for a pod: it is too early (PreemptionSearched::not_before)
  NotEligible,  // preemptionPolicy: Never
  Waiting,      // pods that were evicted for it have not ended
  NoVictims,
  Found,
};

struct PreemptionSearched {
  // Found, Waiting: the node that it gets, and who goes ("default/train-3").
  std::string node;
  std::vector<std::string> victims;
  std::size_t refused = 0;                       // of the victims, by their budgets
  std::size_t groups = 0;                        // that go as a whole
  std::vector<std::string> invalid_checkpoints;  // victims whose annotation does not count
  // NoVictims: nodes where nobody can be evicted, and why others would refuse the pod even so.
  std::size_t without_victims = 0;
  std::vector<std::pair<std::string, std::size_t>> still;
  bool ended = false;               // the search reached its budget: there may be more victims
  bool waits_for_bindings = false;  // pods of lower priority are being bound: then they can be evicted
  // NotTried: the pod's own delay, and why that cannot be read.
  std::string not_before;
  std::string invalid_delay;
};

}  // namespace berth::placement
