// The outcome of a gang's decision, for all its members at once.
//
// It is a condition of the PodGroup, or of the CompositePodGroup at the root of its tree. The binder writes
// it on the group's resourceVersion; binder and scheduler read it. It outlives every member, every
// BindRequest and every process. Committed: written before the first binding of the decision; from then on
// members are bound, and never released because of each other. Aborted: no member is bound by this decision.
// A group has one undecided decision at a time. Earlier releases wrote an annotation instead; it is still
// read.
#pragma once

#include <string>
#include <string_view>

#include "api/types/cluster.h"

namespace berth::api {

// True: the decision that the message names is committed; False: it is aborted.
inline constexpr std::string_view kGangCommitted = "scheduling.berth.dev/GangCommitted";
// Of earlier releases: "Committed ID" or "Aborted ID".
inline constexpr std::string_view kGangDecisionAnnotation = "scheduling.berth.dev/decision";
// Kubernetes' condition: True once the minimum of a group was scheduled, for ever.
inline constexpr std::string_view kGroupScheduled = "PodGroupInitiallyScheduled";

// The same of a CompositePodGroup.
inline constexpr std::string_view kCompositeScheduled = "CompositePodGroupInitiallyScheduled";

// The object that has the condition. Points into it.
struct GangRegister {
  GangRegister(const PodGroup& group) : meta(&group.meta), conditions(&group.conditions) {}
  GangRegister(const CompositePodGroup& root)
      : meta(&root.meta), conditions(&root.conditions), scheduled(kCompositeScheduled) {}

  const ObjectMeta* meta;
  const std::vector<Condition>* conditions;
  std::string_view scheduled = kGroupScheduled;  // Kubernetes' condition of such an object
};

enum class GangOutcome { Undecided, Committed, Aborted };

// The outcome of this decision.
GangOutcome gang_outcome(const GangRegister& group, std::string_view decision_id);
// What says it. `outcome` is decided. As any condition, it keeps the time of its transition while its status
// stays.
Condition gang_condition(const GangRegister& group, std::string_view decision_id, GangOutcome outcome,
                         Time now);
// Kubernetes' condition of a group of groups or of pods, as the scheduler and the gang barrier report it.
Condition scheduled_condition(const GangRegister& group, bool scheduled, const std::string& reason,
                              const std::string& message, Time now);
bool is_scheduled(const GangRegister& group);

}  // namespace berth::api
