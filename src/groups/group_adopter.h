// Keeps, for each group that another project makes, the PodGroups of scheduling.k8s.io that stand for it, and
// the status that the project's controllers wait for.
//
// A made group belongs to the project's object (owner reference, annotation kMadeFromAnnotation), so it goes
// with it; one of labels alone goes with its last pod. From then on it is a group like any other: queue,
// decision, commit, policies and explanations know no projects. A PodGroup of that name that was not made
// here is left alone, and the pods join it. Cost: a parse of the object and O(its pods) for each change of
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/decider.h"

namespace berth::groups {

inline constexpr std::string_view kGroupAdopterName = "group-adopter";

struct AdopterOptions {
  // Groups without a pod of one of these schedulers belong to somebody else. Empty: every group is adopted.
  std::vector<std::string> scheduler_names;
  bool composite_groups = false;  // the gate CompositePodGroup; without it trees cannot be made
};

std::unique_ptr<client::Reconciler> make_group_adopter(AdopterOptions options);

}  // namespace berth::groups
