// What a decision writes: bind requests, conditions, events. Never a binding.
#pragma once

#include <optional>
#include <string>

#include "client/decider.h"
#include "scheduling/framework.h"

namespace berth::scheduling {

struct Binding {
  const api::Pod* pod = nullptr;
  std::string node;
  std::vector<api::ClaimAllocation> claims;
  model::NodeAllocatablePtr node_allocatable = nullptr;
  std::optional<std::int32_t> backoff_limit = {};  // not set: the binder's own
};

// The create of the pod's bind request, and its removal when the whole is undone. A request of that name that
// is there already counts as success: it is this pod's (the name holds its UID), and the view will show what
// it says.
client::Chain bind_chain(const Binding& binding, const api::BindGroup& group, const std::string& decision);

std::vector<api::ClaimAllocation> claim_allocations(const World& world,
                                                    const std::vector<ClaimChoice>& claims);

// PodScheduled=False; nothing when the pod says so already.
std::optional<client::Chain> pod_condition(const api::Pod& pod, const std::string& reason,
                                           const std::string& message, Time now);
// PodGroupInitiallyScheduled; nothing when the group says so already, and never over True.
std::optional<client::Chain> group_condition(const api::PodGroup& group, bool scheduled,
                                             const std::string& reason, const std::string& message, Time now);
// Adds the chain if there is one.
void add(client::Effects& effects, std::optional<client::Chain> chain);
// FailedScheduling, with the decision at its end.
client::EventNote failed_scheduling(const api::Pod& pod, const std::string& message,
                                    const std::string& decision);

}  // namespace berth::scheduling
