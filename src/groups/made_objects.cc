#include "groups/made_objects.h"

#include "api/types/gang_decision.h"

namespace berth::groups {
namespace {

Json policy_of(const WantedGroup& group) {
  if (group.minimum < 1) return Json::object({{"basic", Json::object()}});
  const std::string_view count = group.composite ? "minGroupCount" : "minCount";
  return Json::object({{"gang", Json::object({{std::string(count), group.minimum}})}});
}

}  // namespace

api::PlacementTarget target_of(const WantedGroup& group) {
  return {std::string(api::kGroupsApi), group.composite ? "CompositePodGroup" : "PodGroup", group.name};
}

Json MadeObjects::metadata(const std::string& name) const {
  Json metadata = Json::object({{"name", name}, {"namespace", asked_.ns}});
  metadata["annotations"] =
      Json::object({{std::string(api::kMadeFromAnnotation), api::to_text({source_.id, asked_.name})}});
  if (asked_.object)
    metadata["ownerReferences"] = Json::array(
        {api::to_json(api::OwnerReference{source_.resource.api_version(), std::string(source_.kind),
                                          asked_.object->meta.name, asked_.object->meta.uid, true})});
  return metadata;
}

Json MadeObjects::group(const WantedGroup& group) const {
  Json spec = Json::object({{"schedulingPolicy", policy_of(group)}});
  if (!group.required.empty())
    spec["schedulingConstraints"] =
        Json::object({{"topology", Json::array({Json::object({{"key", group.required}})})}});
  if (!member_.priority_class.empty()) spec["priorityClassName"] = member_.priority_class;
  // Groups of a tree name a Workload, which need not exist.
  if (tree_.groups.size() > 1)
    spec["workloadRef"] =
        Json::object({{"workloadName", tree_.root().name}, {"templateName", api::name_of(source_.id)}});
  if (!group.parent.empty()) spec["parentCompositePodGroupName"] = group.parent;
  const Kind kind = group.composite ? Kind::CompositePodGroup : Kind::PodGroup;
  return Json::object({{"apiVersion", api::ref_of(kind).api_version()},
                       {"kind", target_of(group).kind},
                       {"metadata", metadata(group.name)},
                       {"spec", std::move(spec)}});
}

Json MadeObjects::policy(const WantedGroup& group) const {
  const api::PlacementTarget target = target_of(group);
  Json preferred = Json::array();
  for (const std::string& level : group.preferred) preferred.as_array().emplace_back(level);
  Json spec = Json::object(
      {{"targetRef", Json::object({{"group", target.group}, {"kind", target.kind}, {"name", target.name}})},
       {"preferred", std::move(preferred)}});
  if (!group.required.empty()) spec["required"] = group.required;
  return Json::object({{"apiVersion", api::ref_of(Kind::PlacementPolicy).api_version()},
                       {"kind", "PlacementPolicy"},
                       {"metadata", metadata(group.name)},
                       {"spec", std::move(spec)}});
}

}  // namespace berth::groups
