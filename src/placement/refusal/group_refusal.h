// Why a group was not placed: where it was tried, how far it came, what proves that it fits nowhere.
//
// Values without pointers into the attempt, as refusal.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/refusal/gate.h"
#include "placement/refusal/reasons.h"

namespace berth::placement {

// The progress of a group on one placement.
struct Progress {
  std::int32_t minimum = 1;
  std::int32_t scheduled = 0;  // before and during this attempt
  std::int32_t placed = 0;     // during this attempt
  std::int32_t remaining = 0;
};

// Of members that share claims: the sets of nodes that see the same devices.
struct SharedDeviceSets {
  std::size_t sets = 0;
  std::size_t with_room = 0;
  std::size_t with_devices = 0;  // of those with room: for all shared claims
  std::int64_t most_room = 0;    // for so many members
};

// What proves that a group fits nowhere: its best placement takes fewer members than are needed.
struct GroupProof {
  std::int64_t need = 0, have = 0;           // members
  std::vector<std::string> items;            // kinds of members that do not all find room
  std::optional<std::size_t> alone_refused;  // a member that no node takes, even without the others
};

// What a PlacementPolicy asks of parts of the group, and cannot have.
struct WishShortage {
  std::int64_t members = 0;       // that wait
  std::string level;              // of the segments; empty: it asks for none
  std::int64_t min = 0, max = 0;  // their sizes
  std::int64_t can_be_cut = 0;    // the most members that can be cut so; 0: none of the numbers that would do
  std::int64_t room = 0;          // for so many members in such segments, by counts
  std::string attribute;          // that devices must have in common; empty: none
  std::size_t values = 0;         // different ones on free devices
};

// Of a tree: the group that finds no room next to the others.
struct StuckGroup {
  std::string name;
  bool composite = false;
  std::int64_t needed = 0;           // members of it, and of all below it, that must be placed
  std::string topology_key;          // its level; empty: it goes wherever its parent goes
  std::string nearest;               // the domain that comes closest; empty: there is none
  std::optional<std::int64_t> room;  // of it, by cpu, memory and pod slots; none: enough by these
};

struct GroupRefusal {
  std::optional<GroupGate> gate;  // set: the group was not tried
  std::string error;              // ended the attempt
  std::string hint;               // ours, about the error
  std::string hint_pod;           // the member that it is about

  std::int64_t needed = 1;           // members that had to find a node
  std::string topology_key;          // the level; empty: the whole cluster
  bool counts_placements = true;     // false: Kubernetes' sentence does not
  std::size_t placements = 0;        // candidates
  std::size_t refused_by_bound = 0;  // of these, without being tried
  std::size_t tried = 0;             // in the members' own order, narrower ones included
  std::size_t searched = 0;          // of the candidates, for all choices of nodes and devices
  std::string nearest;               // the candidate that comes closest; of a topology alone
  std::int64_t nearest_room = 0;     // of it: members, by cpu, memory and pod slots
  std::size_t unlabelled = 0;        // nodes without the label of the level
  // Free devices that each candidate lacks at least; 0: unknown, or some candidate has enough.
  std::int64_t devices_short = 0;
  std::optional<WishShortage> wish;
  std::optional<StuckGroup> stuck;  // of a tree
  std::optional<SharedDeviceSets> shared_devices;
  bool saw_all_placements = true;  // false: the search for placements ended early

  const Reason* first_status = nullptr;  // of the first placement; null: it has the minimum, nobody fits
  Progress first_progress;               // the subjects of `first_status`: minimum, scheduled, remaining

  std::string_view unproved;  // why the refusal proves nothing, as Reason::unproved; empty: `proof` proves it
  std::optional<GroupProof> proof;
};

}  // namespace berth::placement
