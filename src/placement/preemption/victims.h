// Which pods may be evicted for others, and how bad that is.
//
// Source: kube-scheduler 1.37, DefaultPreemption (order of importance, order of the criteria). Added: pods
// that could not come back cost most, pods that end anyway cost nothing, and lost work counts where
// VictimScoring says so.
#pragma once

#include <compare>
#include <vector>

#include "placement/cycle_state.h"

namespace berth::placement {

// How long after its deletionTimestamp a pod is expected to be gone. A later one may never end: its room
// counts as taken.
inline constexpr Duration kLateEndMax = Duration::minutes(2);

enum class Evictability : std::uint8_t {
  Fixed,       // nobody can evict it, or that would free nothing
  BeingBound,  // Evictable once it is bound
  EndsSoon,    // it is being deleted, or evicted for another preemptor
  Evictable,
};
// Of a pod that has a node, whatever the priorities.
Evictability evictability(const model::Cluster& cluster, PodId pod, Time now);
// Whether a plan may count on its room.
constexpr bool gives_room(Evictability kind) {
  return kind == Evictability::EndsSoon || kind == Evictability::Evictable;
}

// Its group's, or that of the root of its tree, where it has one.
std::int32_t priority_of(const client::View& view, const api::Pod& pod);
std::int32_t priority_of(const client::View& view, const api::PodGroup& group);
// A pod that replaces it could only run on the same node: of a DaemonSet, with a local volume, or bound to
// the node by name.
bool is_tied_to_node(const client::View& view, const api::Pod& pod);

// One that has not started counts as the youngest.
Time start_of(const api::Pod& pod);
// Whether it is a reservation pod and nobody else has a share of its GPU on the node.
bool holds_gpu_alone(const model::NodeUse& use, const api::Pod& pod);
// In a what-if the pod is gone, with each claim that nobody else uses, and with the reservation pods of GPUs
// that nobody else shares. `group_claims`: whether a claim of a PodGroup goes with the last member that uses
// it.
void remove_victim(const model::Cluster& cluster, PodId pod, model::GroupClaims group_claims,
                   model::Ledger::Transaction& transaction);

// Whether nobody uses the allocated claim any more. Its controller is about to give its devices back, or it
// is kept for groups whose priorities are below this one.
bool is_idle(const SchedulingContext& context, model::ClaimId claim, std::int64_t priority);

// Pods that are evicted together or not at all; or a claim that nobody uses any more.
struct VictimUnit {
  std::int32_t priority = 0;
  bool of_group = false;
  bool ends_soon = false;
  bool tied = false;        // to its node
  bool refused = false;     // the Eviction API would refuse one of its pods
  Time started;             // of the oldest
  __int128 lost = 0;        // work of all of them (lost_work.h)
  std::vector<PodId> pods;  // by name
  model::ClaimId claim;     // none: pods
};
// When the unit's turn comes to be taken back: the lower, the earlier.
int turn_of(const VictimUnit& unit);
// Source: kube-scheduler's MoreImportantVictim; equal ones by name. Of one priority those that lose more work
// come first.
bool more_important(const model::Cluster& cluster, const VictimUnit& a, const VictimUnit& b);

// What a set of victims costs; the smaller one is chosen. Source: kube-scheduler's pickOneNodeForPreemption,
// after `tied`; `lost` and `without_room` are 0 there.
struct PreemptionCost {
  std::uint32_t tied = 0;
  std::uint32_t refused = 0;        // evictions beyond what budgets permit
  std::uint32_t refused_later = 0;  // the same, of those that victims cause when they come back
  std::int64_t top = kNobody;
  __int128 lost = 0;               // work (lost_work.h)
  std::uint32_t without_room = 0;  // victims that do not come back, or for which no room is elsewhere
  __int128 sum = 0;                // of priorities, each made positive
  std::uint32_t victims = 0;
  std::int64_t age = 0;  // minus the earliest start among those with the highest priority

  static constexpr std::int64_t kNobody = INT64_MIN;
  friend auto operator<=>(const PreemptionCost&, const PreemptionCost&) = default;
};
// What a victim of this priority adds to PreemptionCost::sum.
constexpr std::int64_t weight_of(std::int64_t priority) {
  return priority + (std::int64_t{1} << 31);
}

}  // namespace berth::placement
