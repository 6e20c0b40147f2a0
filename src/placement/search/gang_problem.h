// A group on a set of nodes as numbers: kinds of members, what each asks, what each node has free.
//
// Members are of one kind when filters, scores and devices read the same of them, they name the same shared
// claims and avoid the same nodes. Owner: one search of a group. Cost: the filters and scores once a kind,
// on all nodes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "placement/avoided_nodes.h"
#include "placement/pod_cycle.h"
#include "placement/search/gang_devices.h"

namespace berth::placement {

// Nodes that are judged in one step.
inline constexpr std::size_t kNodesOfAStep = 16;

struct GangKind {
  std::vector<std::size_t> members;  // in their own order
  std::size_t part = 0;              // of the problem, which they all belong to
  std::vector<std::int64_t> asks;    // by GangProblem::resources
  bool has_claims = false;           // without devices
  std::int64_t devices = 0;          // that a member takes at least
  // Whether a node takes such members together follows from more than amounts and devices.
  bool is_opaque = false;
  std::vector<std::uint32_t> nodes;  // that the filters accept, the best first; indices of GangProblem::nodes
};

struct GangProblem {
  std::vector<NodeId> nodes;
  std::vector<model::ResourceId> resources;
  std::vector<std::int64_t> free;       // by node and resource
  std::vector<std::uint32_t> class_of;  // by node: equal for nodes that can stand for each other
  std::vector<GangKind> kinds;          // the most constrained first
  std::vector<std::size_t> needed;      // by part: members to be placed
  std::size_t size = 0;                 // members
  std::int64_t devices = INT64_MAX;     // free ones, or as many as all members take at least
  bool by_placing = false;              // some kind is opaque, or devices take of nodes
  std::string_view unproved;            // why a refused node proves nothing; empty: it does

  std::int64_t free_at(std::uint32_t node, std::size_t resource) const {
    return free[node * resources.size() + resource];
  }
};

// Members that wait together: a group, or one of several that are placed at once.
struct GangPart {
  std::size_t size = 0;           // members, behind those of the part before
  std::size_t needed = 0;         // of them
  std::span<const NodeId> nodes;  // that they may use
};

struct GangQuestion {
  const PluginSet& plugins;
  const PodCycle& pods;
  const SchedulingContext& context;
  model::Ledger::Transaction& transaction;
  std::span<const api::Pod* const> waiting;
  const AvoidedByPod& avoid;
  const std::vector<std::uint32_t>& alike;  // by member: equal signatures
  std::span<const GangPart> parts;          // of all members; one: its nodes are not read
};

// In the state of the open transaction. The budget may end before it is built: the problem is then of no use.
GangProblem make_gang_problem(const GangQuestion& question, std::span<const NodeId> nodes,
                              GangDevices& devices, CycleState& state, Budget& budget);

}  // namespace berth::placement
