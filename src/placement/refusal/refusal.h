// Why a pod or a group was not placed, as data. Search and plugins fill it; kubernetes_words.h and
// berth_words.h put it into words, refusal_json.h writes it for programs.
//
// A value without pointers into the attempt, shared and never changed once the decision has it. Made only for
// refusals. Owner: the decision; records and plans share it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dra/certificate.h"
#include "placement/decision_result.h"
#include "placement/entity.h"
#include "placement/refusal/fit_error.h"
#include "placement/refusal/group_refusal.h"
#include "placement/refusal/preemption_refusal.h"

namespace berth::api {
struct Pod;
}  // namespace berth::api

namespace berth::placement {

struct Refusal;
using RefusalPtr = std::shared_ptr<const Refusal>;

// The nodes that FitError counts are the whole proof.
struct NodesProof {};
// The node that comes closest to the devices; empty: no node matters.
struct DeviceProof {
  dra::Certificate certificate;
  std::string node;
};
using PodProof = std::variant<NodesProof, DeviceProof>;

struct Refusal {
  EntityKey of;
  DecisionResult result = DecisionResult::Unschedulable;  // or Error; Placed: only members were refused
  Preemption preemption = Preemption::NotTried;
  std::optional<PreemptionSearched> searched = {};  // none: nobody looked for victims

  // Of a pod.
  std::size_t node_count = 0;  // that were asked
  FitError nodes;
  std::optional<PodProof> proof;  // if the decision was asked for one
  std::string placement = {};     // of a member: the one of several candidates that refused it

  // Of a group.
  std::optional<GroupRefusal> group;
  std::vector<RefusalPtr> members;  // that were tried and refused on the best placement, in their order
  RefusalPtr alone;                 // with its proof: a member that fits nowhere, even without the others

  std::string_view unproved() const { return group ? group->unproved : nodes.unproved; }
};

// Of a pod that none of `node_count` nodes takes.
Refusal refuse_pod(const api::Pod& pod, FitError nodes, std::size_t node_count, Preemption preemption);
// Of a pod whose attempt ended with an error.
Refusal fail_pod(const api::Pod& pod, std::string error, std::string hint);
// Of a group that is not tried.
Refusal gate_group(const EntityKey& group, GroupGate gate);

}  // namespace berth::placement
