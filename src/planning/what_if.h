// What changes of the input would change in a plan.
//
// Pure: the input is planned twice, as it is and with all changes, at the same time and with the same seed.
// Source: outer surface, `berth plan --what-if`.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "planning/plan.h"

namespace berth::planning {

// Changes of one plan.
inline constexpr std::size_t kChangesMax = 64;

// An object of the input. `kind` is one of kubectl's names for it, in lower case: "deployment", "deploy".
struct ObjectName {
  std::string kind;
  std::string ns;  // empty: "default", or none for kinds without namespaces
  std::string name;
};

struct AddObjects {
  std::vector<Document> documents;
};
// As a cluster would lose it (document_removal.h).
struct RemoveObject {
  ObjectName object;
};
struct CordonNode {
  std::string node;
};
struct ScaleWorkload {
  ObjectName workload;
  std::int64_t count = 0;
};
struct SetPreemption {
  bool on = true;
};

struct Change {
  std::string text;  // as it was asked for: errors name it
  std::variant<AddObjects, RemoveObject, CordonNode, ScaleWorkload, SetPreemption> step;
};

// The plan with all changes, in their order, and how it differs from the one without. Refuses a change of an
// object that the input does not have, and more than kChangesMax.
Result<Plan> make_what_if(std::vector<Document> documents, std::span<const Change> changes,
                          const PlanOptions& options, dra::SelectorEvaluator& selectors);

}  // namespace berth::planning
