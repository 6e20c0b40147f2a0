// What a decision needs to know of a claim's life: who uses it, whether its allocation is still good, when a
// pod gives it up.
//
// Source: KEP-4381 (reservedFor, PostFilter), KEP-5007 (binding conditions). Beyond kube-scheduler: consumers
// on their way count, all failed claims of a pod are given up at once, and a sound allocation is given up
// only where that can help.
#pragma once

#include <string>
#include <vector>

#include "client/decider.h"
#include "scheduling/shape_index.h"

namespace berth::scheduling {

// Kubernetes' reason for a node that an allocated claim does not reach, or not any more.
inline constexpr std::string_view kClaimElsewhere = "resourceclaim not available on the node";

// Before an error of the allocator.
inline constexpr std::string_view kDynamicResourcesError = "running \"DynamicResources\" filter plugin: ";

// Consumers that the claim has or is about to have, beside the pod with this UID.
std::size_t other_consumers(const World& world, model::ClaimId claim, std::string_view pod_uid);

// A device of the allocation failed to get ready, or did not in time.
bool is_unusable(const World& world, const api::ResourceClaim& claim);

// One write for each claim that the refused pod gives up, so that it can be allocated anew: those that are
// unusable; without any, sound ones, if the pod would fit somewhere without them. Never one that somebody
// else has reserved or is about to. Leaves the transaction as it was.
std::vector<client::Chain> deallocations(const Attempt& attempt, ShapeIndex& shapes, const PodCycle& pods,
                                         model::Ledger::Transaction& transaction);

}  // namespace berth::scheduling
