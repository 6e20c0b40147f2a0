// The extension points of groups: candidate placements, the progress on one, the score of one.
//
// Owner: the scheduler, one thread; plugins keep no state between attempts. Source: KEP-5732.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/pod.h"
#include "base/result.h"
#include "model/ledger.h"
#include "placement/refusal/group_refusal.h"
#include "topology/tree.h"

namespace berth::placement {

using model::NodeId;
struct SchedulingContext;
class DomainIndex;

// Devices for a claim that several members of a group share. Source: KEP-5732, DraClaimAllocation.
struct ProposedAllocation {
  model::PodId pod;  // a member that names the claim
  model::ClaimId claim;
  std::shared_ptr<const api::Allocation> allocation;
};

// A set of nodes that could take a whole group, with the devices that its members would share there.
struct Placement {
  std::string name;                                     // the domain's path; empty: the whole cluster
  topology::DomainId domain;                            // none: the whole cluster
  std::span<const NodeId> nodes;                        // by name; lives as long as the decision
  std::shared_ptr<const std::vector<NodeId>> narrowed;  // holds `nodes`; null: all nodes of the domain
  std::vector<ProposedAllocation> allocations;

  bool is_whole_cluster() const { return !domain.valid() && !narrowed; }
};

struct PlacementQuestion {
  const topology::Tree* tree = nullptr;     // null: the group names no topology key
  std::span<const NodeId> all_nodes;        // by name
  std::span<const api::Pod* const> placed;  // members that have a node
  std::span<const NodeId> occupied;         // their nodes
  std::span<const std::string> recorded;    // their domains (group_domain.h), or empty; as many or none
};

class PlacementGenerator {
 public:
  virtual ~PlacementGenerator() = default;
  // In a fixed order; empty if no node qualifies. An error if no placement can hold the members that have a
  // node.
  virtual Result<std::vector<Placement>> generate(const PlacementQuestion& question) const = 0;
};

// Placements inside others, tried before or after them.
struct Refinement {
  std::vector<Placement> placements;
  bool complete = true;                            // false: the search for placements ended early
  std::optional<SharedDeviceSets> shared_devices;  // what to say if none of them takes the group
  std::optional<std::int64_t> members_max;         // no placement takes more; none: unknown
};

struct RefinementQuestion {
  const SchedulingContext& context;
  std::span<const api::Pod* const> waiting;
  std::span<const Placement> parents;
  std::int64_t needed = 1;                   // members that must find a node
  std::function<std::int64_t(NodeId)> room;  // an upper bound of the members that a node takes
  model::Ledger::Transaction& transaction;   // left as it was
  DomainIndex& domains;
};

// Narrows placements to those that can serve what the members share. Source: KEP-5732, a generator's
// parentPlacements.
class PlacementRefiner {
 public:
  virtual ~PlacementRefiner() = default;
  // Tried before the parents; nothing where the parents need no refinement.
  virtual Refinement refine(const RefinementQuestion& question) const = 0;
  // Tried when no parent takes the group.
  virtual Refinement last_resort(const RefinementQuestion& question) const = 0;
};

// An upper bound of the members that a node takes. Placements whose sum is too small are not tried.
class FitCounter {
 public:
  virtual ~FitCounter() = default;
  struct Demand {
    model::ResourceAmounts requests;  // what every pod takes of its node at least
    // Filters without prefilters may refuse nodes that the pods fit, so they give no bound.
    bool beyond_filters = false;
  };
  virtual Demand demand(const model::Cluster& cluster, std::span<const api::Pod* const> pods) const = 0;
  virtual std::int64_t fit_count(const model::Cluster& cluster, NodeId node,
                                 const model::ResourceAmounts& requests) const = 0;
};

// An upper bound by what members choose on the node besides their place.
class JointFitCounter {
 public:
  virtual ~JointFitCounter() = default;
  // At most how many of `alike`, pods with equal signatures of which the node takes one, it takes together in
  // the state of the open transaction. All of them where no bound is known.
  virtual std::int64_t count(const SchedulingContext& context, std::span<const api::Pod* const> alike,
                             NodeId node) const = 0;
};

enum class Feasibility : std::uint8_t { Wait, Feasible, Infeasible };

class PlacementState {
 public:
  virtual ~PlacementState() = default;
  virtual Feasibility judge(const Progress& progress) const = 0;
  // Why judge() answered Infeasible; lives as long as the process. The subjects of its text are minimum,
  // scheduled and remaining.
  virtual const Reason& reason() const = 0;
};

// Cpu and memory of a domain after the group was placed.
struct DomainUse {
  __int128 requested[2] = {};  // sums over many nodes may exceed 64 bits
  __int128 allocatable[2] = {};
  DomainUse& operator+=(const DomainUse& other);
  DomainUse& operator-=(const DomainUse& other);
};

// A placement that takes the group, and the nodes of its members there. Source: KEP-5732, PodGroupAssignment.
struct PlacementResult {
  const Placement* placement = nullptr;
  DomainUse use;
  std::int32_t scheduled = 0;  // members that count for minCount, with this attempt's
  std::vector<NodeId> nodes;   // of ScoringQuestion::waiting; none: not placed
};

// Of a tree of groups: its first PodGroup, and no pods.
struct ScoringQuestion {
  const SchedulingContext& context;
  const api::PodGroup& group;
  std::span<const api::Pod* const> waiting;
  std::span<const PlacementResult> results;
};

inline constexpr std::int64_t kPlacementScoreMax = 100;

// The result with the highest sum of weighted scores is chosen, of equal ones the first in path order.
// Source: KEP-5732, PlacementScorerPlugin; an integer as in kube-scheduler, where the document has a float64.
class PlacementScorer {
 public:
  virtual ~PlacementScorer() = default;
  // kube-scheduler's name of the plugin, or a stranger's; static lifetime.
  virtual std::string_view name() const = 0;
  // True: score() does not read PlacementResult::nodes, and of two results that take every member it prefers
  // the same one whatever other results there are. If all scorers say so, the search ends at the first
  // placement that takes every member; otherwise all placements are tried.
  virtual bool known_before_placing() const { return false; }
  // Sets one score per result, 0..kPlacementScoreMax; they are 0 before. Others end the attempt with an
  // error.
  virtual void score(const ScoringQuestion& question, std::span<std::int64_t> scores) const = 0;
};

enum class Scorers : std::uint8_t { All, KnownBeforePlacing };

}  // namespace berth::placement
