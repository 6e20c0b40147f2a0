// One call of GroupCycle::run: its input, what it found so far.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "placement/groups/group_cycle.h"

namespace berth::placement {

struct GroupCycle::Run {
  const SchedulingContext& context;
  const GroupInput& input;
  model::Ledger::Transaction& transaction;
  std::span<const NodeId> all_nodes;
  GroupFit fit;
  GroupBound bound;
  Topology* topology = nullptr;
  std::vector<Placement> placements;  // before any refinement
  const topology::FitCounts* counts = nullptr;
  std::string refusal_of_refined;           // ours
  bool refined_all = true;                  // no search for placements ended early
  std::optional<std::int64_t> members_max;  // of a refinement: no placement takes more
  std::vector<std::size_t> unrefuted;  // placements that may take the group, although no try has shown it
  std::optional<GroupProof> proof;     // of the placement that comes closest; set if all are refuted
  std::string_view unproved;           // why the refusal proves nothing; empty: it does
  GroupOutcome failure;                // of kind Error: ends the attempt

  bool failed() const { return !failure.message.empty(); }
  std::int32_t minimum() const { return input.group->minimum(); }
  std::int32_t scheduled() const { return input.scheduled; }
  // Members that must find a node in this attempt for it to succeed.
  std::int32_t needed() const { return std::max(1, minimum() - scheduled()); }
};

inline GroupOutcome error_outcome(const GroupInput& input, std::string message,
                                  std::string explanation = {}) {
  GroupOutcome outcome;
  outcome.kind = GroupOutcome::Kind::Error;
  outcome.message = std::move(message);
  outcome.explanation = std::move(explanation);
  outcome.members.resize(input.waiting.size());
  return outcome;
}

}  // namespace berth::placement
