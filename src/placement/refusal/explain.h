// Berth's own sentence, after Kubernetes': why a pod waits.
//
// The same state gives the same text: reasons by text, nodes by name. Called only for refused pods.
#pragma once

#include <string>

#include "placement/framework.h"
#include "placement/refusal/fit_error.h"

namespace berth::placement {

// "pod default/train-7 waits: 2 of 4 nodes lack cpu (it asks for 8; n2 comes closest with 3500m); …"
std::string explain_pod(const CycleState& state, const FitError& fit_error, std::size_t node_count);

// "pod default/train-7 waits: …" with what a failed selector probably meant; empty without a hint.
std::string explain_error(const api::Pod& pod, const std::string& hint);

}  // namespace berth::placement
