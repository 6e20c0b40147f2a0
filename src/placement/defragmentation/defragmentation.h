// Which pods with devices would have to move, and where each would go. The goal: whole domains have no device
// in use, or a group that waits fits.
//
// Pure: the transaction is left as it was. Each move is tried after those before it, in their order, with the
// ordinary decision. The pod leaves its node and finds another one, outside of domains that are emptied and
// of those that are whole. No move takes a gang below its minimum, or asks a PodDisruptionBudget for more
// than it permits now. First room is made for what waits, each time in the domain with the fewest moves. Then
// domains are emptied, those with the fewest moves for their size first; counts of devices rule domains out
// before any pod is tried. Owner: one DecisionCore, one thread. Cost: O(pods with devices), and a decision a
// move; bounds below.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "placement/decision_core.h"
#include "placement/defragmentation/stay_reason.h"
#include "placement/trees/tree_input.h"
#include "placement/wishes/policy_wishes.h"

namespace berth::placement {

// Domains whose pods are tried, in one search.
inline constexpr std::size_t kDomainsEmptiedTriedMax = 512;
// Domains that are tried for one entity that waits, and entities for which moves are searched.
inline constexpr std::size_t kRoomDomainsTriedMax = 64;
inline constexpr std::size_t kRoomWaitingMax = 64;
// Decisions about one entity that waits in one domain, to find how few moves are enough.
inline constexpr std::size_t kRoomDecisionsMax = 256;
// How often such a domain is tried again without a pod that finds no other node.
inline constexpr std::size_t kRoomRetriesMax = 4;
inline constexpr std::int64_t kRatioUnit = 1000;

struct DefragmentationLimits {
  std::size_t moves_max = 32;               // pods, over all domains
  std::size_t moves_per_domain_max = 32;    // pods
  std::size_t domains_max = 64;             // that are emptied, or make room
  std::int64_t ratio_min = 2 * kRatioUnit;  // devices gained for each device moved, in thousandths
  bool whole_groups = true;                 // groups that are disrupted as one may move
};

// Refused as the cluster is now.
struct WaitingEntity {
  EntityKey key;
  std::variant<const api::Pod*, GroupInput, TreeInput> input;
};
std::size_t waiting_pods(const WaitingEntity& waiting);

struct DefragmentationQuestion {
  const SchedulingContext& context;
  std::span<const std::string> level;      // node label keys, outermost first: domains of the last one
  std::span<const WaitingEntity> waiting;  // in the order of the queue
  const std::set<PodId>& stay;             // pods that are not moved, whatever they are
  const OwnersOf& owners;                  // of groups, for their policies
  DefragmentationLimits limits = {};
};

struct PodMove {
  PodId pod;
  NodeId from, to;
  std::int64_t devices = 0;
  bool with_group = false;  // all members of its group move at once
  model::Plan room;         // what it takes on its new node
};

// What waited, and has its place then.
struct FittingEntity {
  std::size_t waiting = 0;  // of DefragmentationQuestion::waiting
  model::Plan room;
};

// What the moves of one domain buy.
struct DefragmentedDomain {
  std::string path;
  std::vector<PodMove> moves;  // in the order in which each fits
  std::int64_t devices = 0;    // of the domain
  std::int64_t moved = 0;      // devices that the moved pods held
  bool whole = false;          // no device of the domain is in use then
  std::vector<FittingEntity> fits;
};
// "3 moves make rack-7 whole: gang ns/g of 16 fits"
std::string gain_text(const DefragmentedDomain& domain, std::span<const WaitingEntity> waiting);

// A domain with devices in use that keeps its pods.
struct KeptDomain {
  std::string path;
  StayReason reason = StayReason::NoRoom;
  PodId pod;  // that the reason is about; none: the domain as such
};

struct DefragmentationPlan {
  std::vector<DefragmentedDomain> domains;  // in the order of their moves
  std::vector<KeptDomain> kept;             // by path
  std::size_t whole_before = 0;             // domains without a device in use
  std::size_t whole_after = 0;              // before those that wait get their places
  bool ended = false;                       // a bound was reached: more may be possible
};

DefragmentationPlan find_defragmentation(DecisionCore& core, const DefragmentationQuestion& question,
                                         model::Ledger::Transaction& transaction);

}  // namespace berth::placement
