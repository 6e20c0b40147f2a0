// Kubernetes' words for a refusal: reason and message of conditions.
//
// Source: kube-scheduler's FitError, preemption and pod group sentences, byte for byte (observed on 1.37.0).
#pragma once

#include <string>
#include <string_view>

#include "placement/refusal/refusal.h"

namespace berth::placement {

// Of the condition: "Unschedulable", "SchedulerError"; of a placed pod "Scheduled".
std::string_view condition_reason(DecisionResult result);

// Of the condition of a pod that is not tried: reason and message; empty: it has none.
std::string_view condition_reason(const PodGate& gate);
std::string_view gate_sentence(const PodGate& gate);

// "0/4 nodes are available: 1 Insufficient cpu, 3 cannot allocate all claims."
std::string fit_sentence(const FitError& nodes, std::size_t node_count);

// The group's, without the sentence about preemption.
std::string group_words(const Refusal& refusal);
// The pod's or the group's, with the sentence about preemption; of an Error what is wrong.
std::string kubernetes_sentence(const Refusal& refusal);

// Of a member of a refused group. `own`: null if the member fits or was not tried.
std::string kubernetes_sentence_of_member(const Refusal* own, const Refusal& group);

}  // namespace berth::placement
