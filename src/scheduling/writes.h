// The writes of a decision: BindRequests, renewed reservations, conditions, events. Never a binding.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "client/decider.h"
#include "placement/bind_request.h"
#include "placement/refusal/refusal.h"
#include "scheduling/loop_state.h"

namespace berth::scheduling {

using placement::BindRequestDraft;

// Writes the decision into the pod's BindRequest: a create, or an update of one that failed for good. The
// write is followed until its fate is known; a request of another decision ends it as not accepted.
client::Chain bind_chain(const client::View& view, const BindRequestDraft& binding,
                         const api::BindGroup& group, const std::string& decision, const LoopState& loop);

// Puts writes that renew the claims' reservations before the BindRequest. A claim that is already reserved
// for the pod may look idle, and a deallocation of it may be in flight. `renewed`: claims that this decision
// has renewed.
void renew_reservations(const client::View& view, const BindRequestDraft& binding,
                        const std::string& decision, std::set<std::string>& renewed, client::Chain& chain);

// Members may share a claim: a chain of the same object is not added again.
void add_once(client::Effects& effects, const client::Chain& chain);
// The Eviction API's answer when a disruption budget is spent.
bool refused_by_budget(const client::ApiReply& reply);
// As many members as the group needs have a place, or count as if they had one.
bool has_minimum(const GroupInput& input);

// The condition and the event of a refused pod.
struct SchedulingFailure {
  std::string reason;
  std::string sentence;     // Kubernetes' words
  std::string explanation;  // ours
  std::string decision;
  Duration reword_after = kRewordAfter;
};
SchedulingFailure failure_of(const placement::Refusal& refusal, const std::string& decision,
                             Duration reword_after = kRewordAfter);
// Of a member of a refused group.
SchedulingFailure failure_of_member(const placement::MemberOutcome& member, const placement::Refusal& group,
                                    const std::string& decision);
// `nominated`: the node that it gets when its victims are gone; empty: none.
WantedCondition refused_pod(const api::Pod& pod, const SchedulingFailure& refusal, Time now,
                            std::string nominated = "");

// The condition PodScheduled=False.
api::Condition pod_unscheduled(const api::Pod& pod, const std::string& reason, const std::string& message,
                               Time now);
// The event FailedScheduling, annotated with the decision.
client::EventNote failed_scheduling(const api::Pod& pod, const std::string& message,
                                    const std::string& decision);

}  // namespace berth::scheduling
