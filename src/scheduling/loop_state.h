// What the parts of the scheduler share: entries, decisions in flight, and what the keepers hold.
//
// Owner: the Scheduler, one thread. Intake and EntryGate change it between decisions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "placement/trees/tree_members.h"
#include "scheduling/keepers/bind_failure_avoid_list.h"
#include "scheduling/keepers/condition_updater.h"
#include "scheduling/keepers/decision_failures.h"
#include "scheduling/keepers/device_wait_errors.h"
#include "scheduling/keepers/evictions.h"
#include "scheduling/keepers/late_allocations.h"
#include "scheduling/keepers/nominations.h"
#include "scheduling/keepers/overtaking_guard.h"
#include "scheduling/keepers/owner_reads.h"
#include "scheduling/keepers/policy_statuses.h"
#include "scheduling/keepers/relocations.h"
#include "scheduling/keepers/replacements.h"
#include "scheduling/keepers/successor_rooms.h"
#include "scheduling/keepers/term_seals.h"
#include "scheduling/keepers/whole_claims.h"
#include "scheduling/keepers/withdrawals.h"
#include "scheduling/queue/dirty_entities.h"

namespace berth::scheduling {

using placement::AvoidSet;
using placement::DecisionCore;
using placement::GroupInput;
using placement::GroupMembers;
using placement::GroupOutcome;
using placement::PodDecision;
using placement::Preempting;
using placement::SchedulingContext;
using placement::TreeInput;
using placement::TreeMembers;
using placement::TreeOutcome;

struct SchedulerOptions {
  std::vector<std::string> scheduler_names = {"berth"};  // of pods that it places
  Duration cool_down = Duration::seconds(30);  // how long a failed binding's node or devices are avoided
  Duration binding_timeout = Duration::seconds(600);  // the binder's; after it an allocation is unusable
  Duration overtaking_limit = Duration::seconds(20);  // before an overtaken entry gets a reservation
  std::optional<std::int32_t> backoff_limit = {};     // of bind requests; not set: the binder's own
  bool composite_groups = false;  // the gate CompositePodGroup: trees are decided; else their groups are held
  std::string process =
      {};  // names a process without a Lease in its decisions; empty: nothing can outlive it
  bool records_in_memory = false;  // BindRequests of an earlier process may be lost: TermSeals
  dra::DeviceScoring device_scoring = dra::DeviceScoring::Reference;
  placement::VictimScoring victim_scoring = placement::VictimScoring::Reference;
  DefragmentationSettings defragmentation = {};
  dra::DeviceGates gates = {};
  placement::Placements placements = placement::Placements::ByTopology;
  bool deferred_resizes = false;  // they have others evicted: InPlacePodVerticalScalingSchedulerPreemption
  placement::MakePlugins plugins = placement::default_plugins;
  std::vector<placement::Profile> profiles = {};  // empty: one for all its names
  QueueBackoff backoff = {};
};

// A decision whose writes are in flight.
struct InFlight {
  QueuedEntity entry;
  std::vector<std::string> member_uids;  // one a chain, in their order
  bool barrier = false;                  // the members wait for each other
  bool rest_evicts = false;              // members that it leaves out may evict others next
};

// Where the successor of a pod that leaves goes, and what it takes there.
struct SuccessorPlace {
  model::PodId leaving;
  model::NodeId node;
  model::Plan room;
};

struct LoopState {
  explicit LoopState(SchedulerOptions given);
  LoopState(const LoopState&) = delete;
  LoopState& operator=(const LoopState&) = delete;

  bool ours(const api::Pod& pod) const;
  // The pod, its group, or the tree that its group is in.
  EntityKey entry_of(const client::View& view, const api::Pod& pod) const;
  EntityKey entry_of_group(const client::View& view, const std::string& ns, const std::string& name) const;
  // A request that failed for good does not count: the next decision replaces it.
  bool wants_place(const client::View& view, const api::Pod& pod) const;
  // Whether the pod runs and waits for room to grow in.
  bool wants_to_grow(const api::Pod& pod) const;
  // Gives the room of an overtaken entry, of a preemptor, or of one that moves serve free: it has a place, or
  // cannot be tried.
  void forget_room(const EntityKey& key, Time now);
  // Of the entry itself: moves that serve it, a nomination, or a replacement.
  std::optional<model::HoldId> held_for(const EntityKey& key) const;
  // Holds the room against the priority of the pod that leaves, and lower ones, until a successor has a
  // place.
  void keep_successor_room(const client::View& view, const SuccessorPlace& place, Time until);
  // Victims of plans that ended before they were evicted keep no room elsewhere, unless they leave all the
  // same: a plan may have waited for pods that somebody else evicted.
  void forget_rooms_of_spared(Time now);
  // The statuses of policies about the group, and about those above it, are to be looked at.
  void statuses_changed(const client::View& view, const GroupKey& group, Time now);
  // The pod has a place: its maker's room there ends.
  void forget_successor_room(const api::Pod& pod, model::NodeId node, Time now);

  SchedulerOptions options;
  model::Cluster cluster;
  client::Leadership leadership;
  SchedulingQueue queue;
  DirtyEntities dirty;
  std::map<std::string, InFlight> in_flight;  // by decision
  // Decisions that were written in full and still have requests.
  std::set<std::string, std::less<>> written_gangs;
  ConditionUpdater conditions;
  Withdrawals withdrawals;
  WholeClaims whole_claims;
  TermSeals seals;
  bool sealing = false;  // pods that ask for devices are gated
  OvertakingGuard overtaking;
  Evictions evictions;
  Nominations nominations;
  LateAllocations late;
  BindFailureAvoidList avoid_list;
  DecisionFailures failures;
  DeviceWaitErrors device_waits;
  OwnerReads owners;
  PolicyMembers policy_members;
  PolicyStatuses policy_statuses;
  Replacements replacements;
  SuccessorRooms rooms;
  Relocations relocations;
};

}  // namespace berth::scheduling
