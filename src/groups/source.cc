#include "groups/source.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace berth::groups {

std::span<const Source> sources() {
  static const Source kSources[] = {
      {GroupSource::Grove,
       {"scheduler.grove.io", "v1alpha1", "podgangs"},
       "PodGang",
       "",
       grove_tree,
       grove_status},
      {GroupSource::Kai,
       {"scheduling.run.ai", "v2alpha2", "podgroups"},
       "PodGroup",
       "kai-scheduler",
       kai_tree,
       kai_status},
      {GroupSource::Volcano,
       {"scheduling.volcano.sh", "v1beta1", "podgroups"},
       "PodGroup",
       "volcano",
       min_member_tree,
       volcano_status},
      {GroupSource::SchedulerPlugins,
       {"scheduling.x-k8s.io", "v1alpha1", "podgroups"},
       "PodGroup",
       "scheduler-plugins-scheduler",
       min_member_tree,
       scheduler_plugins_status},
      {GroupSource::Kueue, {}, "", "", kueue_tree, nullptr},
  };
  return kSources;
}

const Source& source_of(GroupSource id) {
  const auto all = sources();
  const auto found = std::ranges::find(all, id, &Source::id);
  BERTH_ASSERT(found != all.end(), "every group that a pod names has a source");
  return *found;
}

const Source* source_with(const api::ResourceRef& resource) {
  for (const Source& source : sources())
    if (source.has_objects() && source.resource == resource) return &source;
  return nullptr;
}

const Source* source_with_kind(std::string_view api_version, std::string_view kind) {
  for (const Source& source : sources())
    if (source.has_objects() && source.kind == kind && source.resource.api_version() == api_version)
      return &source;
  return nullptr;
}

std::int32_t WantedTree::children_of(std::string_view parent) const {
  return static_cast<std::int32_t>(std::ranges::count(groups, parent, &WantedGroup::parent));
}

PodCounts counts_of(std::span<const api::Pod* const> pods) {
  PodCounts counts;
  for (const api::Pod* pod : pods) {
    if (pod->meta.deleting()) continue;
    ++counts.pods;
    counts.scheduled += pod->bound();
    counts.running += pod->phase == "Running";
    counts.succeeded += pod->phase == "Succeeded";
    counts.failed += pod->phase == "Failed";
  }
  return counts;
}

Result<std::int32_t> minimum_at(const Json& owner, const std::string& path, std::string_view field,
                                std::int32_t otherwise) {
  const Json* value = owner.find(field);
  if (!value || value->is_null()) return otherwise;
  if (!value->is_int() || value->as_int() < 0 || value->as_int() > std::numeric_limits<std::int32_t>::max())
    return Error(ErrorCode::Invalid, path + "." + std::string(field), "must be a count of 0 or more");
  return static_cast<std::int32_t>(value->as_int());
}

Result<WantedTree> min_member_tree(const Asked& asked) {
  const std::int32_t minimum = TRY(minimum_at(asked.object->spec(), "spec", "minMember", 1));
  return WantedTree{{{.name = asked.name, .minimum = std::max(1, minimum)}}};
}

void constrain(WantedGroup& group, std::string_view required, std::string_view preferred) {
  group.required = required;
  if (!preferred.empty() && preferred != required) group.preferred.emplace_back(preferred);
}

void append_counts(JsonObject& status, const PodCounts& counts) {
  status.append("running", workloads::unless_zero(counts.running));
  status.append("succeeded", workloads::unless_zero(counts.succeeded));
  status.append("failed", workloads::unless_zero(counts.failed));
}

}  // namespace berth::groups
