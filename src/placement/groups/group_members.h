// The state of a group's members, from the live objects and the scheduler's assumptions.
//
// A group has one unsettled decision at a time: while a member's request is being written or rolled back,
// the group is not decided again. While all members of a decision wait at the gang barrier, late members may
// join it: they are prepared and bound with the others. Only bound and committed members count for minCount.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/view.h"
#include "model/cluster.h"
#include "placement/refusal/gate.h"

namespace berth::placement {

struct GroupMembers {
  std::vector<const api::Pod*> waiting;         // to be placed, in no order
  std::vector<const api::Pod*> placed;          // they have a node in the ledger
  std::vector<model::NodeId> occupied;          // of `placed`, in the same order
  std::vector<std::string> recorded;            // the same: their domains (group_domain.h), or empty
  const api::Pod* foreign = nullptr;            // the first without a node that is not ours; null: none
  std::int32_t alive = 0;                       // neither finished nor being deleted
  std::int32_t scheduled = 0;                   // bound or committed
  std::int32_t ever_bound = 0;                  // finished ones included
  std::optional<UnsettledGate> unsettled;       // why the group cannot be decided now
  std::string joinable;                         // the decision that waits at the barrier; empty: none
  std::int32_t at_barrier = 0;                  // members of `joinable`
  std::vector<const api::BindRequest*> broken;  // of decisions whose requests were not all written
};

struct GroupQuestions {
  std::function<bool(const api::Pod&)> ours;
  std::function<bool(const std::string& decision)> gang_under_way;  // the gang's requests are being written
  std::function<bool(const std::string& decision)> was_written;     // by this process, every request
};

// The pod's request that has not failed for good; null: none.
const api::BindRequest* standing_request(const client::View& view, const api::Pod& pod);
// The same by the pod's row.
const api::BindRequest* standing_request(const model::PodRow& row, const api::Pod& pod);

// Cost: O(members).
GroupMembers group_members(const client::View& view, const model::Cluster& cluster,
                           const GroupQuestions& questions, std::string_view ns, std::string_view group);
// Of one group of a tree: what follows from the other groups is left to join_groups(), which is called with
// all of them.
GroupMembers members_of_one(const client::View& view, const model::Cluster& cluster,
                            const GroupQuestions& questions, std::string_view ns, std::string_view group);
// Groups that are decided together have one decision under way, and are unsettled together.
void join_groups(const client::View& view, std::span<GroupMembers* const> groups);

}  // namespace berth::placement
