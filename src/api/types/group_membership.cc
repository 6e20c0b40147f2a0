#include "api/types/group_membership.h"

#include <array>

namespace berth::api {
namespace {

// Where a project writes the name of its object on a pod, and the name of the pod's part of it.
struct GroupKey {
  GroupSource source;
  enum class In : std::uint8_t { Label, Annotation } in;
  std::string_view key;
  std::string_view part_label = {};  // empty: its groups have no parts
};

using enum GroupKey::In;
// The order is the precedence.
constexpr std::array<GroupKey, 6> kGroupKeys = {{
    {GroupSource::Grove, Label, "grove.io/podgang", "grove.io/podclique"},
    {GroupSource::Kai, Annotation, "pod-group-name", "kai.scheduler/subgroup-name"},
    {GroupSource::Volcano, Annotation, "scheduling.k8s.io/group-name"},
    {GroupSource::Volcano, Annotation, "scheduling.volcano.sh/group-name"},
    {GroupSource::SchedulerPlugins, Label, "scheduling.x-k8s.io/pod-group"},
    {GroupSource::Kueue, Label, "kueue.x-k8s.io/pod-group-name"},
}};

constexpr std::array<std::string_view, 6> kNames = {"kubernetes",        "grove", "kai", "volcano",
                                                    "scheduler-plugins", "kueue"};

std::string_view label(const ObjectMeta& meta, std::string_view key) {
  const auto found = meta.labels.find(key);
  return found == meta.labels.end() ? std::string_view() : found->second;
}

// The parts of a PodGang have names of their own, those of a KAI PodGroup names within it.
std::string group_name(GroupSource source, std::string_view object, std::string_view part) {
  if (part.empty()) return std::string(object);
  return source == GroupSource::Grove ? std::string(part) : kai_subgroup_name(object, part);
}

std::optional<GroupSource> group_source_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<GroupSource>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(GroupSource source) {
  return kNames[static_cast<std::size_t>(source)];
}

std::optional<LabelledGroup> labelled_group(const ObjectMeta& pod) {
  if (pod.labels.empty() && pod.annotations.empty()) return std::nullopt;
  for (const GroupKey& row : kGroupKeys) {
    const std::string_view object = row.in == Label ? label(pod, row.key) : pod.annotation(row.key);
    if (object.empty()) continue;
    const std::string_view part = row.part_label.empty() ? "" : label(pod, row.part_label);
    return LabelledGroup{row.source, std::string(object), group_name(row.source, object, part)};
  }
  return std::nullopt;
}

std::string to_text(const MadeFrom& made_from) {
  return std::string(name_of(made_from.source)).append("/").append(made_from.object);
}

std::optional<MadeFrom> made_from(const ObjectMeta& meta) {
  const std::string_view text = meta.annotation(kMadeFromAnnotation);
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<GroupSource> source = group_source_named(text.substr(0, slash));
  if (!source) return std::nullopt;
  return MadeFrom{*source, std::string(text.substr(slash + 1))};
}

std::string kai_subgroup_name(std::string_view group, std::string_view subgroup) {
  return std::string(group).append("-").append(subgroup);
}

}  // namespace berth::api
