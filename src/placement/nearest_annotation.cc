#include "placement/nearest_annotation.h"

#include "client/group_tree.h"

namespace berth::placement {

std::string_view nearest_annotation(const client::View& view, const api::Pod& pod, std::string_view key) {
  if (const std::string_view text = pod.meta.annotation(key); !text.empty() || pod.group.empty()) return text;
  const api::PodGroup* group = view.pod_groups.find(pod.meta.ns, pod.group);
  if (!group) return {};
  if (const std::string_view text = group->meta.annotation(key); !text.empty()) return text;
  for (const api::CompositePodGroup* composite : client::groups_above(view, *group))
    if (const std::string_view text = composite->meta.annotation(key); !text.empty()) return text;
  return {};
}

}  // namespace berth::placement
