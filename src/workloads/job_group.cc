#include "workloads/job_group.h"

#include "base/stable_hash.h"
#include "workloads/pod_names.h"

namespace berth::workloads {
namespace {

constexpr const char* kSchedulingVersion = "scheduling.k8s.io/v1beta1";
constexpr std::string_view kTemplateSuffix = "-pgt-0";
constexpr std::size_t kTemplateNameBytesMax = 63;  // a DNS label
constexpr std::size_t kJobNameBytesMax = 100;  // of a name, so that the longest, a PodGroup's, is a name too
// Of a Job whose parent has the Workload: the template of the Job's PodGroup.
constexpr std::string_view kTemplateAnnotation = "scheduling.k8s.io/group-template-name";
// What a template and a PodGroup have in common, beside the policy.
constexpr std::string_view kTraits[] = {"schedulingConstraints", "disruptionMode", "resourceClaims",
                                        "priorityClassName"};

std::string suffix(std::string_view seed) {
  return "-" + safe_text(static_cast<std::uint32_t>(stable_hash(seed)));
}

// The gang's size defaults to the Job's parallelism.
Json policy_of(const Json& spec) {
  const Json& asked = spec.part("scheduling").part("schedulingPolicy");
  const Json* gang = asked.find("gang");
  if (!gang) return Json::object({{"basic", Json::object()}});
  const std::int64_t count = gang->int_at("minCount", spec.int_at("parallelism", 1));
  return Json::object({{"gang", Json::object({{"minCount", count}})}});
}

Json template_of(const Parsed& job) {
  const std::string name = job.meta.name.substr(0, kTemplateNameBytesMax - kTemplateSuffix.size());
  Json made = Json::object(
      {{"name", name + std::string(kTemplateSuffix)}, {"schedulingPolicy", policy_of(job.spec())}});
  const Json& scheduling = job.spec().part("scheduling");
  for (std::string_view field : kTraits)
    if (const Json* value = scheduling.find(field)) made[field] = *value;
  if (const Json* priority = job.spec().part("template").part("spec").find("priorityClassName"))
    made["priorityClassName"] = *priority;
  return made;
}

Json metadata_of(const Parsed& job, const std::string& name) {
  Json metadata = Json::object({{"name", name}, {"namespace", job.meta.ns}});
  metadata["ownerReferences"] = Json::array({api::to_json(controller_reference(job, "batch/v1", "Job"))});
  return metadata;
}

Json workload_of(const Parsed& job, const std::string& name) {
  Json spec = Json::object(
      {{"controllerRef", Json::object({{"apiGroup", "batch"}, {"kind", "Job"}, {"name", job.meta.name}})}});
  spec["podGroupTemplates"] = Json::array({template_of(job)});
  return Json::object({{"apiVersion", kSchedulingVersion},
                       {"kind", "Workload"},
                       {"metadata", metadata_of(job, name)},
                       {"spec", std::move(spec)}});
}

Json group_of(const Parsed& job, const std::string& name, const api::ObjectMeta& workload,
              const Json& group_template) {
  Json spec = Json::object({{"schedulingPolicy", group_template.part("schedulingPolicy")}});
  for (std::string_view field : kTraits)
    if (const Json* value = group_template.find(field)) spec[field] = *value;
  spec["workloadRef"] =
      Json::object({{"workloadName", workload.name}, {"templateName", group_template.string_at("name")}});
  return Json::object({{"apiVersion", kSchedulingVersion},
                       {"kind", "PodGroup"},
                       {"metadata", metadata_of(job, name)},
                       {"spec", std::move(spec)}});
}

bool is_of(const api::ObjectMeta& meta, const Parsed& job) {
  const api::OwnerReference* owner = meta.controller();
  return owner && owner->uid == job.meta.uid;
}

// No pod is made: one that started alone would never be of the gang.
JobGroup waiting(const Parsed& job, std::string_view reason, std::string message, Effects& effects) {
  effects.events.push_back(event_about(job, true, reason, std::move(message)));
  effects.retry = true;
  return {"", false};
}

void tell_made(const Parsed& job, const std::string& kind, const std::string& name, Effects& effects) {
  effects.events.push_back(event_about(job, false, kind + "Created",
                                       "Created " + kind + " " + name + " for Job " + job.meta.name));
}

client::Write resize_group(const api::PodGroup& group, std::int64_t count) {
  Json patch = Json::object();
  patch["spec"]["schedulingPolicy"]["gang"]["minCount"] = count;
  return client::merge_patch(client::key_of(Kind::PodGroup, group.meta), std::move(patch), group.meta.uid,
                             group.meta.resource_version);
}

// The Job's PodGroup from the template of a Workload; `own_size`: of the Job's own Workload, which changes
// with it.
JobGroup keep_group(const View& view, const Parsed& job, const std::string& name,
                    const api::AnyObject& workload, const Json& group_template, bool own, Effects& effects) {
  const api::PodGroup* group = view.pod_groups.find(job.meta.ns, name);
  const api::ObjectKey key{Kind::PodGroup, job.meta.ns, name, {}};
  if (!group) {
    Json made = group_of(job, name, workload.meta, group_template);
    const api::OwnerReference owner{kSchedulingVersion, "Workload", workload.meta.name, workload.meta.uid};
    if (own) made["metadata"]["ownerReferences"].as_array().push_back(api::to_json(owner));
    effects.chains.push_back({key, {client::create(Kind::PodGroup, job.meta.ns, made)}});
    tell_made(job, "PodGroup", name, effects);
    return {name, false};
  }
  if (!is_of(group->meta, job))
    return waiting(job, "FailedPodGroupCreate",
                   "Failed to create PodGroup for Job " + job.meta.name + ": podgroups.scheduling.k8s.io \"" +
                       name + "\" already exists",
                   effects);
  const Json* count = group_template.find_path({"schedulingPolicy", "gang", "minCount"});
  if (count && group->gang_min && *group->gang_min != count->as_int()) {
    client::Chain chain{key, {resize_group(*group, count->as_int())}};
    if (own) {
      const api::ObjectKey workload_key = key_in(workload_resource(), job.meta.ns, workload.meta.name);
      const Json same =
          Json::object({{"op", "test"}, {"path", "/metadata/uid"}, {"value", workload.meta.uid}});
      const Json resize = Json::object({{"op", "replace"},
                                        {"path", "/spec/podGroupTemplates/0/schedulingPolicy/gang/minCount"},
                                        {"value", *count}});
      chain.key = workload_key;
      chain.writes.insert(chain.writes.begin(),
                          client::json_patch(workload_key, Json::array({same, resize})));
    }
    effects.chains.push_back(std::move(chain));
  }
  return {name, !group->meta.deleting()};
}

bool is_jobs(const api::ObjectMeta& meta) {
  const api::OwnerReference* owner = meta.controller();
  return owner && owner->kind == "Job" && owner->api_version.starts_with("batch/");
}

// The Workload whose controllerRef names this owner. Cost: a parse for each Workload of the namespace that is
// of no Job.
std::optional<Parsed> workload_of_parent(const View& view, const std::string& ns,
                                         const api::OwnerReference& parent) {
  const std::size_t slash = parent.api_version.find('/');
  const std::string_view group =
      slash == std::string::npos ? std::string_view() : std::string_view(parent.api_version).substr(0, slash);
  for (const api::ObjectKey& key : view.keys_in(Kind::Other, ns, workload_resource())) {
    const api::AnyObject* object = find_other(view, workload_resource(), key.ns, key.name);
    if (!object || is_jobs(object->meta)) continue;
    auto parsed = parse_other(key, *object);
    if (!parsed) continue;
    const Json& reference = parsed->spec().part("controllerRef");
    if (reference.string_at("apiGroup") == group && reference.string_at("kind") == parent.kind &&
        reference.string_at("name") == parent.name)
      return parsed;
  }
  return std::nullopt;
}

// The parent controls when, and how many of the gang start; the Job makes its PodGroup from the parent's
// Workload.
JobGroup keep_delegated(const View& view, const Parsed& job, const api::OwnerReference& parent,
                        Effects& effects) {
  const std::string wanted(job.meta.annotation(kTemplateAnnotation));
  const auto workload = workload_of_parent(view, job.meta.ns, parent);
  if (workload)
    for (const Json& group_template : workload->spec().items_at("podGroupTemplates")) {
      if (group_template.string_at("name") != wanted) continue;
      const std::string name =
          job.meta.name.substr(0, kJobNameBytesMax) + "-" + wanted + suffix(job.meta.uid + "/group");
      return keep_group(view, job, name,
                        *find_other(view, workload_resource(), job.meta.ns, workload->meta.name),
                        group_template, false, effects);
    }
  return waiting(job, "FailedPodGroupCreate",
                 workload ? "PodGroupTemplate \"" + wanted + "\" not found in workload " + job.meta.ns + "/" +
                                workload->meta.name
                          : "no Workload of " + parent.kind + " " + parent.name + " is found",
                 effects);
}

JobGroup keep_own(const View& view, const Parsed& job, Effects& effects) {
  const std::string stem = job.meta.name.substr(0, kJobNameBytesMax);
  const std::string name = stem + suffix(job.meta.uid + "/workload");
  const Json group_template = template_of(job);
  const api::ObjectKey key = key_in(workload_resource(), job.meta.ns, name);
  const api::AnyObject* workload = find_other(view, workload_resource(), job.meta.ns, name);
  if (!workload) {
    effects.chains.push_back({key, {create_other(workload_resource(), workload_of(job, name))}});
    tell_made(job, "Workload", name, effects);
    return {"", false};
  }
  if (!is_of(workload->meta, job))
    return waiting(job, "FailedWorkloadCreate",
                   "Failed to create Workload for Job " + job.meta.name + ": workloads.scheduling.k8s.io \"" +
                       name + "\" already exists",
                   effects);
  const std::string group =
      name + "-" + std::string(group_template.string_at("name")) + suffix(job.meta.uid + "/group");
  return keep_group(view, job, group, *workload, group_template, true, effects);
}

}  // namespace

const api::ResourceRef& workload_resource() {
  static const api::ResourceRef kRef{"scheduling.k8s.io", "v1beta1", "workloads"};
  return kRef;
}

bool is_delegated(const api::ObjectMeta& job) {
  return job.controller() && !job.annotation(kTemplateAnnotation).empty();
}

JobGroup keep_job_group(const View& view, const Parsed& job, Effects& effects) {
  if (!job.spec().part("template").part("spec").part("schedulingGroup").is_null()) return {"", true};
  if (is_delegated(job.meta)) return keep_delegated(view, job, *job.meta.controller(), effects);
  if (job.meta.controller() || job.spec().part("scheduling").is_null()) return {"", true};
  return keep_own(view, job, effects);
}

}  // namespace berth::workloads
