// The group of a pod that a project other than Kubernetes groups: its labels and annotations name one.
//
// A pod with spec.schedulingGroup is in that group, whatever its labels say. Of several the first in the
// order of GroupSource counts. Pure. Source: the keys that Grove, KAI Scheduler, Volcano, scheduler-plugins
// and Kueue write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/types/meta.h"

namespace berth::api {

// Whose label or annotation says which group a pod is in; those before win.
enum class GroupSource : std::uint8_t { Kubernetes, Grove, Kai, Volcano, SchedulerPlugins, Kueue };

// "kubernetes", "grove", "kai", "volcano", "scheduler-plugins", "kueue".
std::string_view name_of(GroupSource source);

struct LabelledGroup {
  GroupSource source = GroupSource::Kubernetes;
  std::string object;  // the project's object: a PodGang, a PodGroup; of Kueue, which has none, the group
  std::string group;   // the PodGroup of scheduling.k8s.io that stands for the pod's part of it
  friend bool operator==(const LabelledGroup&, const LabelledGroup&) = default;
};
// Nothing for a pod that names no group so.
std::optional<LabelledGroup> labelled_group(const ObjectMeta& pod);

// Of a PodGroup, CompositePodGroup or PlacementPolicy that was made for a project's group: "volcano/train",
// the source and the project's object.
inline constexpr std::string_view kMadeFromAnnotation = "scheduling.berth.dev/made-from";
struct MadeFrom {
  GroupSource source = GroupSource::Kubernetes;
  std::string object;
  friend bool operator==(const MadeFrom&, const MadeFrom&) = default;
};
std::string to_text(const MadeFrom& made_from);
// Nothing for an object that nobody made so.
std::optional<MadeFrom> made_from(const ObjectMeta& meta);

// The name of the group that represents a part of a KAI PodGroup.
std::string kai_subgroup_name(std::string_view group, std::string_view subgroup);

}  // namespace berth::api
