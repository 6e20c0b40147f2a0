#include "placement/expected_duration.h"

#include "client/group_tree.h"

namespace berth::placement {
namespace {

// Of the pod or the nearest object above it that has one.
std::string_view annotation_of(const client::View& view, const api::Pod& pod) {
  const auto own = [](const api::ObjectMeta& meta) { return meta.annotation(kExpectedDurationAnnotation); };
  if (const std::string_view text = own(pod.meta); !text.empty() || pod.group.empty()) return text;
  const api::PodGroup* group = view.pod_groups.find(pod.meta.ns, pod.group);
  if (!group) return {};
  if (const std::string_view text = own(group->meta); !text.empty()) return text;
  for (const api::CompositePodGroup* composite : client::groups_above(view, *group))
    if (const std::string_view text = own(composite->meta); !text.empty()) return text;
  return {};
}

}  // namespace

std::optional<Duration> expected_duration(const client::View& view, const api::Pod& pod) {
  const std::string_view text = annotation_of(view, pod);
  if (text.empty()) return std::nullopt;
  const Result<Duration> parsed = parse_duration(text);
  if (!parsed || *parsed <= Duration()) return std::nullopt;
  return *parsed;
}

}  // namespace berth::placement
