#include "api/placement_fields.h"

#include <algorithm>

namespace berth::api {
namespace {

// Where a workload has its pod template.
struct TemplateAt {
  std::string_view group, kind;
  std::array<std::string_view, 4> path;
};
constexpr auto kTemplates = std::to_array<TemplateAt>({
    {"apps", "DaemonSet", {"spec", "template"}},
    {"apps", "Deployment", {"spec", "template"}},
    {"apps", "ReplicaSet", {"spec", "template"}},
    {"apps", "StatefulSet", {"spec", "template"}},
    {"batch", "CronJob", {"spec", "jobTemplate", "spec", "template"}},
    {"batch", "Job", {"spec", "template"}},
    {"", "ReplicationController", {"spec", "template"}},
});

const Json* part_at(const Json& object, const TemplateAt& at) {
  const Json* part = &object;
  for (const std::string_view name : at.path) {
    if (name.empty()) break;
    part = part->find(name);
    if (!part) return nullptr;
  }
  return part;
}

bool is_ours(const Json& pod) {
  const std::string_view scheduler = pod.part("spec").string_at("schedulerName");
  return scheduler.empty() || scheduler == "berth" || scheduler == "default-scheduler";
}

struct Placed {
  const Json* object = nullptr;  // null: not about places
  std::string_view kind;
  std::string prefix;  // of the template
};

Placed placed_in(std::string_view group, std::string_view kind, const Json& object) {
  if (group.empty() && kind == "Node") return {&object, kind, ""};
  if (group.empty() && kind == "Pod") return {is_ours(object) ? &object : nullptr, kind, ""};
  for (const TemplateAt& row : kTemplates) {
    if (row.group != group || row.kind != kind) continue;
    const Json* pod = part_at(object, row);
    if (!pod || !is_ours(*pod)) return {};
    std::string prefix;
    for (const std::string_view name : row.path)
      if (!name.empty()) prefix.append(name).append(".");
    return {pod, "Pod", std::move(prefix)};
  }
  return {};
}

std::string_view sentence_for(const PlacementField& row) {
  return row.kind == "Node" ? ": Berth ignores this effect and places pods here all the same"
                            : ": Berth ignores this preference";
}

std::vector<std::string> warnings_between(const Placed& now, const Placed& old) {
  std::vector<std::string> warnings;
  if (!now.object) return warnings;
  std::vector<const PlacementField*> known;
  if (old.object) known = preferences_set(old.object->part("spec"), old.kind);
  for (const PlacementField* row : preferences_set(now.object->part("spec"), now.kind))
    if (std::find(known.begin(), known.end(), row) == known.end())
      warnings.push_back(now.prefix + row->text() + std::string(sentence_for(*row)));
  return warnings;
}

}  // namespace

std::string PlacementField::text() const {
  std::string text(path);
  if (!entry_field.empty()) text.append(" with ").append(entry_field).append(": ").append(entry_value);
  return text;
}

std::vector<std::string> pod_placement_warnings(const Json& pod, const Json* before) {
  return warnings_between({&pod, "Pod", ""}, {before, "Pod", ""});
}

std::vector<std::string> placement_warnings(std::string_view group, std::string_view kind, const Json& object,
                                            const Json* before) {
  return warnings_between(placed_in(group, kind, object),
                          before ? placed_in(group, kind, *before) : Placed{});
}

}  // namespace berth::api
