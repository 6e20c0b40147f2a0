// Whether pods are where Berth would place them: each placed pod is decided again, alone.
//
// Pure: on the objects as they are, without the one pod; afterwards it is back. Cost: every node judged once
// a pod.
#pragma once

#include "planning/plan.h"

namespace berth::planning {

enum class Agreement : std::uint8_t {
  Agree,    // its node has the highest score, or one that is as high
  Better,   // another node has a higher one
  Refused,  // Berth would not place it there
};
inline constexpr std::size_t kAgreementCount = 3;
std::string_view name_of(Agreement agreement);

struct ComparedPod {
  std::string ns, name, node;
  Agreement agreement = Agreement::Agree;
  std::string better;                  // the node that has a higher score
  std::int64_t score = 0, higher = 0;  // of the node, and of the better one
  std::string why;                     // Refused: Kubernetes' reason
};

// Every pod that has a node and has not ended, by namespace and name.
Result<std::vector<ComparedPod>> compare_placements(std::vector<Document> documents,
                                                    const PlanOptions& options,
                                                    dra::SelectorEvaluator& selectors);

// {"counts":{"agree","better","refused"},"pods":[…]}; pods that agree are only counted.
Json to_json(const std::vector<ComparedPod>& pods);
std::string to_table(const std::vector<ComparedPod>& pods);

}  // namespace berth::planning
