// The extension points of groups: where a whole group could stand, how far it has come there, how good that
// is.
//
// Owner: the scheduler, one thread; plugins keep no state between attempts. Source: KEP-5732.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/types/pod.h"
#include "base/result.h"
#include "model/ids.h"
#include "topology/tree.h"

namespace berth::scheduling {

using model::NodeId;

// A set of nodes that could take a whole group.
struct Placement {
  std::string name;               // the domain's path; empty: the whole cluster
  topology::DomainId domain;      // none: the whole cluster
  std::span<const NodeId> nodes;  // by name; lives as long as the decision
};

struct PlacementQuestion {
  const topology::Tree* tree = nullptr;     // null: the group names no topology key
  std::span<const NodeId> all_nodes;        // by name
  std::span<const api::Pod* const> placed;  // members that have a place
  std::span<const NodeId> occupied;         // their nodes
};

class PlacementGenerator {
 public:
  virtual ~PlacementGenerator() = default;
  // In a fixed order; none when no node qualifies. An error when the members stand where no placement can
  // hold them.
  virtual Result<std::vector<Placement>> generate(const PlacementQuestion& question) const = 0;
};

// Bounds from above how many members of a group a node takes. Placements whose sum is too small are not
// tried.
class FitCounter {
 public:
  virtual ~FitCounter() = default;
  struct Demand {
    model::ResourceAmounts requests;  // what every one of the pods takes of its node
    // They may stand where a filter refuses them that was not prepared: filters bound nothing.
    bool beyond_filters = false;
  };
  virtual Demand demand(const model::Cluster& cluster, std::span<const api::Pod* const> pods) const = 0;
  virtual std::int64_t fit_count(const model::Cluster& cluster, NodeId node,
                                 const model::ResourceAmounts& requests) const = 0;
};

// How far a group has come on one placement.
struct Progress {
  std::int32_t minimum = 1;
  std::int32_t scheduled = 0;  // before and during this attempt
  std::int32_t placed = 0;     // during this attempt
  std::int32_t remaining = 0;
};

enum class Feasibility : std::uint8_t { Wait, Feasible, Infeasible };

class PlacementState {
 public:
  virtual ~PlacementState() = default;
  virtual Feasibility judge(const Progress& progress) const = 0;
  // Why `judge` said Infeasible.
  virtual std::string reason(const Progress& progress) const = 0;
};

// What a domain holds, cpu and memory, after the group was placed.
struct DomainUse {
  std::int64_t requested[2] = {};
  std::int64_t allocatable[2] = {};
  DomainUse& operator+=(const DomainUse& other);
  DomainUse& operator-=(const DomainUse& other);
};

struct PlacementResult {
  DomainUse use;
  std::int32_t scheduled = 0;
};

// 0..100 for each result, given all of them.
class PlacementScorer {
 public:
  virtual ~PlacementScorer() = default;
  virtual void score(std::span<const PlacementResult> results, std::span<std::int64_t> totals) const = 0;
};

}  // namespace berth::scheduling
