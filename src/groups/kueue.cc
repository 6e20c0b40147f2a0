// Groups of plain pods that Kueue admits together: a label with the group's name and an annotation with the
// number of its pods. There is no object beside the pods.
//
// A group of a serving workload (kueue.x-k8s.io/pod-group-serving) is admitted as one, but its pods start as
// they come: a StatefulSet makes the next when the one before is ready.
#include <limits>

#include "groups/source.h"

namespace berth::groups {
namespace {

constexpr std::string_view kTotal = "kueue.x-k8s.io/pod-group-total-count";
constexpr std::string_view kServing = "kueue.x-k8s.io/pod-group-serving";

std::string annotation_path(std::string_view key) {
  return "metadata.annotations[" + std::string(key) + "]";
}

}  // namespace

Result<WantedTree> kueue_tree(const Asked& asked) {
  WantedGroup group{.name = asked.name, .minimum = 0};
  for (const api::Pod* pod : asked.pods) {
    if (pod->meta.annotation(kServing) == "true") return WantedTree{{std::move(group)}};
    const std::optional<std::int64_t> total = workloads::number_in(pod->meta, kTotal);
    if (!total || *total < 1 || *total > std::numeric_limits<std::int32_t>::max())
      return Error(ErrorCode::Invalid, annotation_path(kTotal),
                   "of pod " + pod->meta.name + " must be the number of pods of the group, 1 or more");
    if (group.minimum != 0 && group.minimum != *total)
      return Error(ErrorCode::Invalid, annotation_path(kTotal),
                   "must be the same on all pods of the group: " + std::to_string(group.minimum) + " and " +
                       std::to_string(*total) + " on pod " + pod->meta.name);
    group.minimum = static_cast<std::int32_t>(*total);
  }
  return WantedTree{{std::move(group)}};
}

}  // namespace berth::groups
