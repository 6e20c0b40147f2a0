// One call of GroupCycle::run: its input, what it found so far.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "placement/groups/group_cycle.h"
#include "placement/groups/group_devices.h"
#include "placement/groups/waiting_members.h"
#include "placement/index/placement_choice.h"

namespace berth::placement {

struct GroupCycle::Run {
  const PluginSet& plugins;  // of the members' profile
  const SchedulingContext& context;
  const GroupInput& input;
  model::Ledger::Transaction& transaction;
  std::span<const NodeId> all_nodes;
  std::shared_ptr<const WaitingMembers> members;
  GroupFit fit;
  GroupBound bound;
  Topology* topology = nullptr;
  GroupFit* known_fit = nullptr;          // of a trial: it counts domains as `fit` does
  std::size_t most = SIZE_MAX;            // members to be placed, at most
  Budget* steps = nullptr;                // of the search of all choices; null: its own
  bool explains = true;                   // refused members get their refusals
  std::vector<Placement> placements;      // before any refinement
  std::optional<PlacementChoice> choice;  // of the placement that is tried
  bool compares = false;                  // it is one of several, whose use is compared
  NodeId latest;                          // there, of the member before
  std::optional<std::size_t> prepared;    // the member that the cycle's state is about; it may be repeated
  const topology::FitCounts* counts = nullptr;
  std::optional<GroupDevices> devices;  // of members with claims, where they were counted
  const topology::FitCounts* device_counts = nullptr;
  std::int64_t without_devices = 0;                // members that device_counts is not about
  std::optional<SharedDeviceSets> shared_devices;  // of the refinement
  std::size_t refused_by_bound = 0;                // of placements
  std::size_t tried = 0;                           // placements, narrower ones included
  std::optional<Evaluation> first;                 // of the first placement, with the refusals of its members
  std::optional<std::size_t> best;                 // of the placements that were tried: it takes most members
  std::int32_t best_placed = 0;                    // there
  bool refined_all = true;                         // no search for placements ended early
  std::optional<std::int64_t> members_max;         // of a refinement: no placement takes more
  std::vector<std::size_t> unrefuted;  // placements that may take the group, although no try has shown it
  std::optional<GroupProof> proof;     // of the placement that comes closest; set if all are refuted
  std::string_view unproved;           // why the refusal proves nothing; empty: it does
  GroupOutcome failure;                // of kind Error: ends the attempt

  void note(std::size_t placement, std::int32_t placed) {
    const bool better = !best || placed > best_placed || (placed == best_placed && placement < *best);
    if (better) best = placement;
    best_placed = std::max(best_placed, placed);
  }
  GroupFit& counting_fit() { return known_fit ? *known_fit : fit; }
  // O(members with claims), and what GroupFit::counts costs.
  void count_devices(Topology& of) {
    std::vector<const api::Pod*> with_claims;
    std::ranges::copy_if(input.waiting, std::back_inserter(with_claims),
                         [](const api::Pod* pod) { return !pod->claims.empty(); });
    if (with_claims.empty()) return;
    devices.emplace(context, with_claims);
    if (!devices->limits()) return;
    without_devices = std::ssize(input.waiting) - std::ssize(with_claims);
    device_counts = &counting_fit().counts(of, *devices);
  }
  // Members that a domain takes at most, as far as something was counted.
  std::int64_t room(topology::DomainId domain) const {
    const std::int64_t plain = counts ? counts->sum(domain) : kFitCountMax;
    return device_counts ? std::min(plain, device_counts->sum(domain) + without_devices) : plain;
  }
  bool failed() const { return failure.refusal != nullptr; }
  std::int32_t minimum() const { return input.needs ? scheduled() + *input.needs : input.group->minimum(); }
  std::int32_t scheduled() const { return input.scheduled; }
  // Members that must find a node in this attempt for it to succeed.
  std::int32_t needed() const { return std::max(1, minimum() - scheduled()); }
};

// Of a group that is not placed as a whole.
inline Refusal refuse_group(const GroupInput& input, DecisionResult result) {
  const api::PodGroup& group = *input.group;
  Refusal refusal;
  refusal.of = {group.meta.ns, group.meta.name, EntityKind::Group};
  refusal.result = result;
  refusal.group.emplace();
  return refusal;
}

// Collects the refusals of members on the best placement. In a placed group they are all there is to refuse.
inline void add_refused_members(const GroupInput& input, GroupOutcome& outcome) {
  if (!outcome.refusal)
    outcome.refusal = std::make_shared<Refusal>(refuse_group(input, DecisionResult::Placed));
  for (const MemberOutcome& member : outcome.members)
    if (member.closest) outcome.refusal->members.push_back(member.closest);
}

// `hint`: ours, about the member `hint_pod`.
inline GroupOutcome error_outcome(const GroupInput& input, std::string error, std::string hint = {},
                                  std::string hint_pod = {}) {
  Refusal refusal = refuse_group(input, DecisionResult::Error);
  refusal.group->error = std::move(error);
  refusal.group->hint = std::move(hint);
  refusal.group->hint_pod = std::move(hint_pod);
  GroupOutcome outcome;
  outcome.kind = GroupOutcome::Kind::Error;
  outcome.members.resize(input.waiting.size());
  outcome.refusal = std::make_shared<Refusal>(std::move(refusal));
  return outcome;
}

}  // namespace berth::placement
