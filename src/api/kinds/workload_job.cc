// Rules of batch/v1 Job.
#include "api/gates_fields.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"
#include "api/kinds/resource_parts.h"
#include "api/kinds/workload_kinds.h"

namespace berth::api {
namespace {

constexpr int kBackoffLimit = 6;
constexpr int kUnlimited = 2147483647;  // where each index has its own limit
constexpr std::size_t kTopologyKeysMax = 1;
constexpr std::string_view kUidLabel = "batch.kubernetes.io/controller-uid";
constexpr std::string_view kNameLabel = "batch.kubernetes.io/job-name";
constexpr std::string_view kOldUidLabel = "controller-uid";
constexpr std::string_view kOldNameLabel = "job-name";

const TypeInfo& batch_type(std::string_view name) {
  return table_type("batch", "v1", name);
}
const TypeInfo& meta_type(std::string_view name) {
  return table_type("meta.k8s.io", "v1", name);
}

Json& member(Json& object, const TypeInfo& type, std::string_view key) {
  put_default(object, type, key, Json::object());
  return *present(object, key);
}

void set_defaults(Json& job) {
  const TypeInfo& type = batch_type("JobSpec");
  Json& spec = member(job, batch_type("Job"), "spec");
  if (!present(spec, "completions") && !present(spec, "parallelism")) put(spec, type, "completions", 1);
  put_default(spec, type, "parallelism", 1);
  put_default(spec, type, "backoffLimit", present(spec, "backoffLimitPerIndex") ? kUnlimited : kBackoffLimit);
  put_default(spec, type, "completionMode", "NonIndexed");
  put_default(spec, type, "suspend", false);
  put_default(spec, type, "manualSelector", false);
  put_default(spec, type, "podReplacementPolicy",
              present(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
  set_failure_policy_defaults(spec);
  set_template_defaults(spec);
  // The job's labels default to those of its pods.
  const Json* labels = present_at(spec, {"template", "metadata", "labels"});
  Json& metadata = member(job, batch_type("Job"), "metadata");
  if (!entries(labels).empty() && entries(present(metadata, "labels")).empty())
    put(metadata, meta_type("ObjectMeta"), "labels", Json(*labels));
}

// The selector matches the pods of a job by its uid.
void add_selector(Json& job) {
  Json& metadata = job["metadata"];
  Json& spec = job["spec"];
  const Json uid(metadata.string_at("uid"));
  const Json name(metadata.string_at("name"));
  Json& pod_template = member(spec, batch_type("JobSpec"), "template");
  Json& pod_metadata = member(pod_template, core_type("PodTemplateSpec"), "metadata");
  Json& labels = member(pod_metadata, meta_type("ObjectMeta"), "labels");
  const std::pair<std::string_view, const Json*> kAdded[] = {
      {kUidLabel, &uid}, {kNameLabel, &name}, {kOldUidLabel, &uid}, {kOldNameLabel, &name}};
  for (const auto& [key, value] : kAdded)
    if (!labels.find(key)) labels[key] = *value;
  Json& selector = member(spec, batch_type("JobSpec"), "selector");
  Json& wanted = member(selector, meta_type("LabelSelector"), "matchLabels");
  if (!wanted.find(kUidLabel)) wanted[kUidLabel] = uid;
}

void prepare_create(Json& job, const RuleContext& ctx) {
  put(job, batch_type("Job"), "status", Json::object());
  if (!job["spec"].bool_at("manualSelector")) add_selector(job);
  set_defaults(job);
  drop_gated_fields(batch_type("Job"), job, nullptr, ctx.gates);
}

FieldErrors check_policy(const FieldPath& path, const Json& scheduling, const Json& spec) {
  const Json* policy = present(scheduling, "schedulingPolicy");
  if (!policy) return {};
  FieldErrors errors = check_union(path, *policy, {"basic", "gang"});
  const Json* count = present_at(*policy, {"gang", "minCount"});
  if (!errors.empty() || !count) return errors;
  const FieldPath at = path.child("gang").child("minCount");
  const std::int64_t parallelism = spec.int_at("parallelism");
  if (count->as_int() < 1)
    errors.push_back(invalid(at, *count, "must be greater than or equal to 1"));
  else if (count->as_int() > parallelism)
    errors.push_back(
        invalid(at, *count, "must not be greater than parallelism (" + std::to_string(parallelism) + ")"));
  return errors;
}

FieldErrors check_scheduling(const FieldPath& path, const Json& spec) {
  const Json* scheduling = present(spec, "scheduling");
  if (!scheduling) return {};
  FieldErrors errors = check_policy(path.child("schedulingPolicy"), *scheduling, spec);
  const JsonArray& topology = items(present(scheduling, "schedulingConstraints"), "topology");
  append(errors, check_count(path.child("schedulingConstraints").child("topology"), topology.size(),
                             kTopologyKeysMax));
  const Json* mode = present(scheduling, "disruptionMode");
  if (mode) append(errors, check_union(path.child("disruptionMode"), *mode, {"single", "all"}));
  if (present(mode, "all") && present_at(*scheduling, {"schedulingPolicy", "basic"}))
    errors.push_back(invalid(path.child("disruptionMode"), "",
                             "the disruptionMode `all` is not supported with the Basic scheduling policy"));
  return errors;
}

FieldErrors validate(const Json& job, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = *present(job, "spec");
  FieldErrors errors = check_job_spec(path, spec);
  append(errors, check_scheduling(path.child("scheduling"), spec));
  return errors;
}

// Only the size of a gang may change.
FieldErrors check_scheduling_change(const FieldPath& path, const Json* next, const Json* old) {
  if (same(next, old)) return {};
  if (!old) return {invalid(path, nullptr, "field cannot be set once created")};
  if (!next) return {invalid(path, nullptr, "field cannot be cleared once set")};
  FieldErrors errors;
  const Json* policy = present(next, "schedulingPolicy");
  const Json* stored = present(old, "schedulingPolicy");
  for (std::string_view variant : {"basic", "gang"})
    if (errors.empty() && (present(policy, variant) != nullptr) != (present(stored, variant) != nullptr))
      errors.push_back(invalid(path.child("schedulingPolicy"), nullptr,
                               "the basic/gang policy variant is immutable after creation; only "
                               "schedulingPolicy.gang.minCount may be updated"));
  for (std::string_view key : {"schedulingConstraints", "resourceClaims", "disruptionMode"})
    if (!same(present(next, key), present(old, key)))
      errors.push_back(invalid(path.child(key), nullptr, "field is immutable"));
  return errors;
}

void erase_all(Json* object, std::initializer_list<std::string_view> members) {
  if (!object) return;
  for (const std::string_view member : members) object->as_object().erase(member);
}

void erase_if_empty(Json& object, std::string_view member) {
  if (const Json* found = present(std::as_const(object), member); found && entries(found).empty())
    object.as_object().erase(member);
}

// A template without what may change while the Job is suspended: where its pods go, and their resources.
Json without_directives(Json pod_template) {
  erase_all(present(pod_template, "metadata"), {"annotations", "labels"});
  erase_if_empty(pod_template, "metadata");
  Json* spec = present(pod_template, "spec");
  if (!spec) return pod_template;
  erase_all(spec, {"nodeSelector", "schedulingGates", "tolerations"});
  erase_all(present(*spec, "affinity"), {"nodeAffinity"});
  erase_if_empty(*spec, "affinity");
  for (const std::string_view list : {"containers", "initContainers"})
    for (Json& container : items(*spec, list)) erase_all(&container, {"resources"});
  return pod_template;
}

// Source: KEP-2926, and KEP-5440 for resources.
FieldErrors check_template_stays(const FieldPath& path, const Json& next, const Json& old) {
  const Json &pod_template = next.part("spec").part("template"), &stored = old.part("spec").part("template");
  if (pod_template == stored) return {};
  const Json& status = old.part("status");
  const bool has_no_pods = !present(status, "startTime") || status.int_at("active") == 0;
  const bool has_paused = old.part("spec").bool_at("suspend") && has_no_pods;
  if (has_paused && without_directives(pod_template) == without_directives(stored)) return {};
  return {invalid(path, go_form(pod_template, core_type("PodTemplateSpec")), "field is immutable")};
}

// The completions of an indexed Job follow its parallelism. Source: KEP-3715.
FieldErrors check_completions_stay(const FieldPath& path, const Json& spec, const Json* stored) {
  const Json* completions = present(spec, "completions");
  if (spec.string_at("completionMode") != "Indexed" || !completions)
    return check_immutable(path, completions, present(stored, "completions"));
  if (same(completions, present(stored, "completions")) ||
      completions->as_int() == spec.int_at("parallelism"))
    return {};
  return {invalid(path, *completions, "can only be modified in tandem with spec.parallelism")};
}

FieldErrors validate_update(const Json& next, const Json& old, const RuleContext& ctx) {
  const FieldPath path("spec");
  const Json& spec = *present(next, "spec");
  const Json* stored = present(old, "spec");
  FieldErrors errors = validate(next, ctx);
  append(errors, check_completions_stay(path.child("completions"), spec, stored));
  for (std::string_view key : {"selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex",
                               "managedBy", "successPolicy"})
    append(errors, check_immutable(path.child(key), present(spec, key), present(stored, key)));
  append(errors, check_template_stays(path.child("template"), next, old));
  append(errors, check_scheduling_change(path.child("scheduling"), present(spec, "scheduling"),
                                         present(stored, "scheduling")));
  return errors;
}

}  // namespace

KindRules job_rules() {
  KindRules rules;
  rules.group = "batch";
  rules.resource = "jobs";
  rules.has_generation = true;
  rules.orphans_by_default = true;
  rules.set_defaults = set_defaults;
  rules.prepare_create = prepare_create;
  rules.prepare_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    drop_gated_fields(batch_type("Job"), next, &old, ctx.gates);
  };
  rules.validate_create = validate;
  rules.validate_update = validate_update;
  rules.warnings = [](const Json& job, const Json* old, const RuleContext&) {
    return template_warnings(job, old, {"spec.template", true});
  };
  return rules;
}

void set_failure_policy_defaults(Json& job_spec) {
  static const TypeInfo& type = batch_type("PodFailurePolicyOnPodConditionsPattern");
  Json* policy = present(job_spec, "podFailurePolicy");
  if (!policy) return;
  for (Json& rule : items(*policy, "rules"))
    for (Json& pattern : items(rule, "onPodConditions"))
      if (pattern.string_at("status").empty()) put(pattern, type, "status", "True");
}

}  // namespace berth::api
