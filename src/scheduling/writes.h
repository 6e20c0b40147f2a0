// What a decision writes: bind requests, claims that it keeps, conditions, events. Never a binding.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "client/decider.h"
#include "scheduling/framework.h"

namespace berth::scheduling {

struct BindRequestDraft {
  const api::Pod* pod = nullptr;
  std::string node;
  std::vector<api::ClaimAllocation> claims;
  model::NodeAllocatablePtr node_allocatable = nullptr;
  std::optional<std::int32_t> backoff_limit = {};  // not set: the binder's own
};

// Makes the pod's bind request say this decision: a create, or an update in place of one that failed for
// good. It is followed until its fate is known; a request of another decision that stands ends it as not
// accepted.
client::Chain bind_chain(const client::View& view, const BindRequestDraft& binding,
                         const api::BindGroup& group, const std::string& decision, std::uint64_t epoch);

// Puts in front of the bind request what makes its claims safe: one that is reserved for the pod already may
// look idle, and a deallocation of it may be on its way. `renewed`: claims that this decision has done so
// for.
void renew_reservations(const client::View& view, const BindRequestDraft& binding,
                        const std::string& decision, std::set<std::string>& renewed, client::Chain& chain);

std::vector<api::ClaimAllocation> claim_allocations(const SchedulingContext& context,
                                                    const std::vector<ClaimChoice>& claims);

// PodScheduled=False.
api::Condition pod_unscheduled(const api::Pod& pod, const std::string& reason, const std::string& message,
                               Time now);
// FailedScheduling, with the decision at its end.
client::EventNote failed_scheduling(const api::Pod& pod, const std::string& message,
                                    const std::string& decision);

}  // namespace berth::scheduling
