// Changes of one node that cure one reason for a refusal.
#pragma once

#include "api/types/cluster.h"
#include "api/types/pod.h"
#include "placement/refusal/fit_error.h"
#include "placement/refusal/remedy.h"

namespace berth::planning {

// Cures the reason on the node: changes it, and says how. None: no change of the node cures it.
std::optional<placement::RemedyStep> cure(const api::Pod& pod, const placement::RefusedFor& why,
                                          api::Node& node);
// Uncordons the node and removes the taints that the pod does not tolerate; appends the steps. False: it has
// a taint that nobody removes.
bool open_node(const api::Pod& pod, api::Node& node, std::vector<placement::RemedyStep>& steps);
// Labels that the pod's selector or the first satisfiable term of its affinity asks for. Empty: none are
// missing, or labels do not help.
std::vector<std::pair<std::string, std::string>> missing_labels(const api::Pod& pod, const api::Node& node);
// Of the node, those that keep the pod away.
std::vector<std::string> untolerated_taints(const api::Pod& pod, const std::vector<api::Taint>& taints);

}  // namespace berth::planning
