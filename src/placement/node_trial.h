// The question that lazy filters answer: one node, with a transaction for what they try on it.
//
// Owner: one attempt. It refers to parts of the attempt's CycleState.
#pragma once

#include <string_view>

#include "placement/node_verdicts.h"
#include "placement/pod_query.h"

namespace berth::placement {

// One node under trial by lazy filters.
struct NodeTrial {
  const PodQuery& query;
  NodeId node;
  model::Ledger::Transaction* what_if;  // the decision's; a filter takes its own changes back
  NodeChoice& choice;                   // what filters choose on the node
  Diagnosis& diagnosis;                 // why one refuses it

  // Refuses the node.
  bool refuse(const Reason& row, std::string_view subject = {}, std::string_view second = {}) const {
    diagnosis.refuse(node, diagnosis.reason(row, subject, second));
    return false;
  }
};

}  // namespace berth::placement
