// What would make one refused pod fit: changes of one node, evictions, or one more node.
//
// Pure: each candidate is applied to the objects, the pod is decided again, and the change is undone; only
// what places the pod is a remedy. Cost: one cluster from the documents, and at most kRemedyTriesMax
// decisions.
#pragma once

#include <vector>

#include "placement/refusal/remedy.h"
#include "planning/plan.h"

namespace berth::planning {

inline constexpr std::size_t kRemediesMax = 8;
inline constexpr std::size_t kRemedyTriesMax = 64;

// Empty: the pod fits, belongs to a group, is not there, or nothing that is tried helps.
Result<std::vector<placement::Remedy>> find_remedies(std::vector<Document> documents,
                                                     const client::NamedKey& pod, const PlanOptions& options,
                                                     dra::SelectorEvaluator& selectors);

}  // namespace berth::planning
