#include "workloads/job_group.h"

#include "base/stable_hash.h"
#include "workloads/pod_names.h"

namespace berth::workloads {
namespace {

constexpr const char* kSchedulingVersion = "scheduling.k8s.io/v1beta1";
// Of a name: so that the name of the PodGroup, which is longer, stays a label value.
constexpr std::size_t kJobNameBytesMax = 40;

std::string suffix(std::string_view seed) {
  return NumberedNames("", seed).name(0);
}

// The gang's size defaults to the Job's parallelism.
Json policy_of(const Json& spec) {
  const Json& asked = spec.part("scheduling").part("schedulingPolicy");
  const Json* gang = asked.find("gang");
  if (!gang) return Json::object({{"basic", Json::object()}});
  const std::int64_t count = gang->int_at("minCount", spec.int_at("parallelism", 1));
  return Json::object({{"gang", Json::object({{"minCount", count}})}});
}

// What a template and a PodGroup have in common.
Json traits_of(const Json& spec) {
  Json traits = Json::object({{"schedulingPolicy", policy_of(spec)}});
  const Json& scheduling = spec.part("scheduling");
  for (std::string_view field : {"schedulingConstraints", "disruptionMode", "resourceClaims"})
    if (const Json* value = scheduling.find(field)) traits[field] = *value;
  if (const Json* name = spec.part("template").part("spec").find("priorityClassName"))
    traits["priorityClassName"] = *name;
  return traits;
}

Json metadata_of(const Parsed& job, const std::string& name) {
  Json metadata = Json::object({{"name", name}, {"namespace", job.meta.ns}});
  metadata["ownerReferences"] = Json::array({api::to_json(controller_reference(job, "batch/v1", "Job"))});
  return metadata;
}

Json workload_of(const Parsed& job, const std::string& name) {
  Json group_template = traits_of(job.spec());
  group_template["name"] = kGroupTemplate;
  Json spec = Json::object(
      {{"controllerRef", Json::object({{"apiGroup", "batch"}, {"kind", "Job"}, {"name", job.meta.name}})}});
  spec["podGroupTemplates"] = Json::array({std::move(group_template)});
  return Json::object({{"apiVersion", kSchedulingVersion},
                       {"kind", "Workload"},
                       {"metadata", metadata_of(job, name)},
                       {"spec", std::move(spec)}});
}

Json group_of(const Parsed& job, const std::string& name, const api::ObjectMeta& workload) {
  Json spec = traits_of(job.spec());
  spec["workloadRef"] = Json::object({{"workloadName", workload.name}, {"templateName", kGroupTemplate}});
  Json metadata = metadata_of(job, name);
  const api::OwnerReference owner{kSchedulingVersion, "Workload", workload.name, workload.uid};
  metadata["ownerReferences"].as_array().push_back(api::to_json(owner));
  return Json::object({{"apiVersion", kSchedulingVersion},
                       {"kind", "PodGroup"},
                       {"metadata", std::move(metadata)},
                       {"spec", std::move(spec)}});
}

bool is_of(const api::ObjectMeta& meta, const Parsed& job) {
  const api::OwnerReference* owner = meta.controller();
  return owner && owner->uid == job.meta.uid;
}

void tell_taken(const Parsed& job, const std::string& what, Effects& effects) {
  effects.events.push_back(event_about(job, true, "FailedCreate",
                                       what + " exists and is not controlled by this Job: no pod is made"));
  effects.retry = true;
}

void keep_gang_size(const Parsed& job, const api::PodGroup& group, const api::AnyObject& workload,
                    Effects& effects) {
  const Json policy = policy_of(job.spec());
  const Json* count = policy.find_path({"gang", "minCount"});
  if (!count || !group.gang_min || *group.gang_min == count->as_int()) return;
  const api::ObjectKey workload_key = key_in(workload_resource(), job.meta.ns, workload.meta.name);
  Json group_patch = Json::object();
  group_patch["spec"]["schedulingPolicy"] = policy;
  const Json same_workload =
      Json::object({{"op", "test"}, {"path", "/metadata/uid"}, {"value", workload.meta.uid}});
  const Json resize = Json::object({{"op", "replace"},
                                    {"path", "/spec/podGroupTemplates/0/schedulingPolicy/gang/minCount"},
                                    {"value", *count}});
  const api::ObjectKey group_key = client::key_of(Kind::PodGroup, group.meta);
  effects.chains.push_back({workload_key,
                            {client::json_patch(workload_key, Json::array({same_workload, resize})),
                             client::merge_patch(group_key, std::move(group_patch), group.meta.uid,
                                                 group.meta.resource_version)}});
}

}  // namespace

const api::ResourceRef& workload_resource() {
  static const api::ResourceRef kRef{"scheduling.k8s.io", "v1beta1", "workloads"};
  return kRef;
}

JobGroup keep_job_group(const View& view, const Parsed& job, Effects& effects) {
  if (job.spec().part("scheduling").is_null()) return {"", true};
  const std::string workload_name =
      job.meta.name.substr(0, kJobNameBytesMax) + "-" + suffix(job.meta.uid + "/workload");
  const std::string name =
      workload_name + "-" + std::string(kGroupTemplate) + "-" + suffix(job.meta.uid + "/group");
  const api::ObjectKey workload_key = key_in(workload_resource(), job.meta.ns, workload_name);
  const api::AnyObject* workload = find_other(view, workload_resource(), job.meta.ns, workload_name);
  if (!workload) {
    effects.chains.push_back(
        {workload_key, {create_other(workload_resource(), workload_of(job, workload_name))}});
    return {name, false};
  }
  if (!is_of(workload->meta, job)) {
    tell_taken(job, "Workload " + workload_name, effects);
    return {name, false};
  }
  const api::PodGroup* group = view.pod_groups.find(job.meta.ns, name);
  if (!group) {
    const Json made = group_of(job, name, workload->meta);
    effects.chains.push_back(
        {{Kind::PodGroup, job.meta.ns, name, {}}, {client::create(Kind::PodGroup, job.meta.ns, made)}});
    return {name, false};
  }
  if (!is_of(group->meta, job)) {
    tell_taken(job, "PodGroup " + name, effects);
    return {name, false};
  }
  keep_gang_size(job, *group, *workload, effects);
  return {name, !group->meta.deleting()};
}

}  // namespace berth::workloads
