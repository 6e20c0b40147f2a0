// What would make a refused pod or group fit: changes of nodes, evictions, more nodes, other devices, a
// smaller group.
//
// Pure: it applies each candidate to the objects, decides the pod or the group again, and undoes the change.
// A candidate that places it is a remedy; every step of a remedy is needed. Cost: at most kRemedyTriesMax
// decisions.
#pragma once

#include <vector>

#include "placement/refusal/refusal.h"
#include "placement/refusal/remedy.h"
#include "planning/offline_cluster.h"

namespace berth::planning {

inline constexpr std::size_t kRemediesMax = 8;
inline constexpr std::size_t kRemedyTriesMax = 256;
// Nodes that lack least; only these are changed, and only here two changes are tried together.
inline constexpr std::size_t kNearNodesMax = 8;
inline constexpr std::size_t kRemedyStepsMax = 2;
// Nodes that are copied together, for a group.
inline constexpr std::size_t kNodesAddedMax = 16;
// Classes, tainted devices and rules that are tried, each the first by name.
inline constexpr std::size_t kDeviceChangesMax = 16;
// Domains of a group that are described, those with room for most members first.
inline constexpr std::size_t kDomainsShownMax = 8;
// Of the tries, for finding these domains.
inline constexpr std::size_t kDomainTriesMax = kRemedyTriesMax / 2;

// How many members of a group fit in one domain together.
struct DomainRoom {
  std::string domain;
  std::size_t nodes = 0;
  std::size_t members = 0;
  std::string next;                // the first member that does not fit; empty: all fit
  std::vector<std::string> lacks;  // what it lacks on the node that comes closest: "n3: 2Gi of memory short"
};

// One group of a tree.
struct GroupRoom {
  std::string name;
  bool composite = false;
  std::int64_t needed = 0;  // members; of a composite one groups
  std::int64_t fit = 0;     // of them, together with the other groups
  std::string domain;       // where; empty: anywhere, or nowhere
  bool has_minimum() const { return fit >= needed; }
};

struct Remedies {
  placement::RefusalPtr refusal;              // null: it fits, or it is not to be decided
  std::optional<placement::GateReason> gate;  // why it is not tried
  std::string trouble;                        // why an API server would refuse the pod
  std::string node;                           // takes the pod without any change; empty: none does
  std::vector<placement::Remedy> found;
  std::optional<placement::NearestMiss> nearest;
  std::vector<placement::RemedyKind> tried;  // in order, each once
  std::size_t near_nodes = 0;                // that were changed, one at a time
  bool ended = false;                        // a bound was reached: more may help
  std::int64_t needed = 0;                   // of a group: members that have to find a node
  std::vector<DomainRoom> domains;           // of a group, nearest first
  std::vector<GroupRoom> rooms;              // of a tree: its groups, each parent before its children
};

struct AskedAbout {
  // A group of a tree is decided with its tree.
  placement::EntityKind kind = placement::EntityKind::Pod;
  client::NamedKey key;
};

// Nothing but defaults: it fits, has a node, cannot be tried, or is not there. Afterwards the cluster is as
// before.
Remedies find_remedies(OfflineCluster& offline, const AskedAbout& asked, const PlanOptions& options,
                       dra::SelectorEvaluator& selectors);

// Adds "remedies":[{"text","steps":[{"kind","node","subjects","request","more","count","victims"}]}],
// "nearestMiss":{"place","lacks"}, "tried":["…"], "domains":[{"domain","nodes","members","next","lacks"}],
// "rooms":[{"name","kind","needed","fit","domain"}].
void put_json(const Remedies& remedies, Json& json);

}  // namespace berth::planning
