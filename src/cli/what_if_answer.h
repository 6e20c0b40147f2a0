// What `berth explain` decides again on the objects as they are: remedies for what waits, scores of what is
// placed.
#pragma once

#include "explain/question.h"
#include "planning/plan.h"

namespace berth::cli {

struct WhatIfQuestion {
  explain::Question question;
  std::vector<planning::Document> documents;
  planning::PlanOptions options;
};

// What may be decided about the answer of explain::answer: "remedies", "scores"; empty: nothing.
std::string_view what_if_about(const Json& answer);
// Decides, and adds it to the answer.
Status add_what_if(WhatIfQuestion asked, Json& answer);
// The whole answer from files alone; the objects are decided as they are, without the pods that wait before.
Result<Json> answer_offline(WhatIfQuestion asked);

}  // namespace berth::cli
