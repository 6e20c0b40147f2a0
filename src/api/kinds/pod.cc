#include "api/kinds/pod.h"

#include <algorithm>
#include <set>

#include "api/gates_fields.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/scheduling_parts.h"
#include "api/kinds/stored_kinds.h"
#include "api/types/meta.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";
constexpr int kDefaultTolerationSeconds = 300;
constexpr std::string_view kPriorityClasses = "priorityclasses.scheduling.k8s.io";

// The default reaction of a pod to an absent kubelet: eviction after five minutes.
void add_default_toleration(Json& spec, std::string_view key) {
  put_default(spec, core_type("PodSpec"), "tolerations", Json::array());
  JsonArray& tolerations = items(spec, "tolerations");
  for (const Json& toleration : tolerations) {
    const std::string_view effect = toleration.string_at("effect");
    const bool covers = toleration.string_at("key") == key || toleration.string_at("key").empty();
    if (covers && (effect.empty() || effect == "NoExecute")) return;
  }
  tolerations.push_back(Json::object({{"key", key},
                                      {"operator", "Exists"},
                                      {"effect", "NoExecute"},
                                      {"tolerationSeconds", kDefaultTolerationSeconds}}));
}

struct Priority {
  std::int64_t value = 0;
  std::string class_name;
  std::string preemption_policy = "PreemptLowerPriority";
};

constexpr std::pair<std::string_view, std::int64_t> kSystemClasses[] = {
    {"system-node-critical", 2'000'001'000}, {"system-cluster-critical", 2'000'000'000}};

Priority of_class(const Json& object) {
  Priority priority;
  priority.value = object.int_at("value");
  priority.class_name = object.find("metadata")->string_at("name");
  if (const std::string_view policy = object.string_at("preemptionPolicy"); !policy.empty())
    priority.preemption_policy = policy;
  return priority;
}

// Of several defaults the lowest value wins.
Priority global_default(const RuleContext& ctx) {
  std::optional<Priority> found;
  for (const Json& object : ctx.list(kPriorityClasses, kIsGlobalDefault))
    if (object.bool_at("globalDefault") && (!found || object.int_at("value") < found->value))
      found = of_class(object);
  return found ? *found : Priority();
}

std::optional<Priority> priority_of(const Json& spec, const RuleContext& ctx) {
  const std::string_view name = spec.string_at("priorityClassName");
  if (name.empty()) return global_default(ctx);
  if (const auto object = ctx.read(kPriorityClasses, "", name)) return of_class(*object);
  const auto* system = std::find_if(std::begin(kSystemClasses), std::end(kSystemClasses),
                                    [&](const auto& row) { return row.first == name; });
  if (system == std::end(kSystemClasses)) return std::nullopt;
  Priority priority;
  priority.value = system->second;
  priority.class_name = name;
  return priority;
}

std::optional<Rejection> admit_create(Json& pod, const RuleContext& ctx) {
  static const TypeInfo& type = core_type("PodSpec");
  const auto refuse = [](std::string message) { return Rejection{403, "Forbidden", std::move(message)}; };
  Json& spec = pod["spec"];
  const std::optional<Priority> priority = priority_of(spec, ctx);
  if (!priority)
    return refuse("no PriorityClass with name " + std::string(spec.string_at("priorityClassName")) +
                  " was found");
  if (const Json* asked = present(spec, "priority"); asked && asked->as_int() != priority->value)
    return refuse("the integer value of priority (" + std::to_string(asked->as_int()) +
                  ") must not be provided in pod spec; priority admission controller computed " +
                  std::to_string(priority->value) + " from the given PriorityClass name");
  const std::string_view policy = spec.string_at("preemptionPolicy");
  if (!policy.empty() && policy != priority->preemption_policy)
    return refuse("the string value of PreemptionPolicy (" + std::string(policy) +
                  ") must not be provided in pod spec; priority admission controller computed " +
                  priority->preemption_policy + " from the given PriorityClass name");
  add_default_toleration(spec, kNotReady);
  add_default_toleration(spec, kUnreachable);
  if (!priority->class_name.empty()) put(spec, type, "priorityClassName", priority->class_name);
  put(spec, type, "priority", priority->value);
  put(spec, type, "preemptionPolicy", priority->preemption_policy);
  return admit_runtime_class(pod, ctx);
}

// Every write of a pod passes this: defaults that were set once are restored when a patch omits them.
std::optional<Rejection> admit_update(Json& next, const Json& old, const RuleContext&) {
  static const TypeInfo& type = core_type("PodSpec");
  Json& spec = next["spec"];
  add_default_toleration(spec, kNotReady);
  add_default_toleration(spec, kUnreachable);
  for (std::string_view key : {"priority", "preemptionPolicy"})
    if (const Json* given = present_at(old, {"spec", key}); given && !present(spec, key))
      put(spec, type, key, *given);
  return std::nullopt;
}

Json gated_condition(Time now) {
  return Json::object({{"type", "PodScheduled"},
                       {"status", "False"},
                       {"lastProbeTime", Json()},
                       {"lastTransitionTime", format_time(now)},
                       {"reason", "SchedulingGated"},
                       {"message", "Scheduling is blocked due to non-empty scheduling gates"}});
}

void prepare_create(Json& pod, const RuleContext& ctx) {
  static const TypeInfo& type = core_type("Pod");
  Json& spec = pod["spec"];
  Json status = Json::object({{"phase", "Pending"}});
  if (!items(&spec, "schedulingGates").empty())
    status["conditions"] = Json::array({gated_condition(ctx.now)});
  status["qosClass"] = qos_class_of(pod);
  put(pod, type, "status", std::move(status));
  if (Json* grace = present(spec, "terminationGracePeriodSeconds"); grace && grace->as_int() < 0) *grace = 1;
  drop_gated_fields(type, pod, nullptr, ctx.gates);
}

// Through "resize" only resources may change, through "ephemeralcontainers" only those: the rest stays.
void keep_all_but(Json& next, const Json& old, std::string_view subresource) {
  static const TypeInfo& spec_type = core_type("PodSpec");
  static const TypeInfo& container_type = core_type("Container");
  Json kept = old;
  Json& spec = kept["spec"];
  const Json* asked = present(next, "spec");
  if (subresource == "ephemeralcontainers") {
    if (const Json* list = present(asked, "ephemeralContainers"))
      put(spec, spec_type, "ephemeralContainers", *list);
  } else {
    for (std::string_view list : {"containers", "initContainers"}) {
      const NamedItems resized(items(asked, list), "name");
      for (Json& container : items(spec, list))
        if (const Json* wanted = resized.find(container.string_at("name")))
          put(container, container_type, "resources", value_or_null(wanted->find("resources")));
    }
  }
  next["spec"] = std::move(spec);
}

void prepare_update(Json& next, const Json& old, const RuleContext& ctx) {
  if (ctx.subresource == "ephemeralcontainers" || ctx.subresource == "resize")
    return keep_all_but(next, old, ctx.subresource);
  drop_gated_fields(core_type("Pod"), next, &old, ctx.gates);
}

// Metadata may change through the status subresource; the spec and the owners may not.
void prepare_status_update(Json& next, const Json& old, const RuleContext& ctx) {
  const Json* spec = old.find("spec");
  if (spec && !same(next.find("spec"), spec)) next["spec"] = *spec;
  Json& metadata = next["metadata"];
  const Json* owners = present_at(old, {"metadata", "ownerReferences"});
  if (!same(present(metadata, "ownerReferences"), owners)) {
    if (owners)
      put(metadata, table_type("meta.k8s.io", "v1", "ObjectMeta"), "ownerReferences", *owners);
    else
      metadata.as_object().erase("ownerReferences");
  }
  static const TypeInfo& pod_type = core_type("Pod");
  drop_gated_fields(pod_type, next, &old, ctx.gates);
  const Json* qos = present_at(old, {"status", "qosClass"});
  if (!qos) return;
  static const TypeInfo& status_type = core_type("PodStatus");
  put_default(next, pod_type, "status", Json::object());
  put(*present(next, "status"), status_type, "qosClass", *qos);
}

FieldErrors check_claims(const FieldPath& path, const JsonArray& claims, std::string_view pod_name) {
  static const TypeInfo& type = core_type("PodResourceClaim");
  constexpr std::string_view kNames[] = {"resourceClaimName", "resourceClaimTemplateName"};
  FieldErrors errors;
  const NamedItems by_name(claims, "name");
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const FieldPath at = path.index(i);
    const Json& claim = claims[i];
    const std::string_view name = claim.string_at("name");
    const Json* claim_name = present(claim, kNames[0]);
    const Json* template_name = present(claim, kNames[1]);
    if (name.empty()) {
      errors.push_back(required(at.child("name")));
    } else if (by_name.is_repeated(claim)) {
      errors.push_back(duplicate(at.child("name"), name));
    } else {
      FieldErrors found = check_format(at.child("name"), name, dns_label_problems);
      const std::string made = std::string(pod_name) + "-" + std::string(name);
      if (found.empty() && template_name && !pod_name.empty())
        for (const std::string& problem : dns_subdomain_problems(made))
          found.push_back(invalid(at.child("name"), made, "final ResourceClaim to be created: " + problem));
      append(errors, std::move(found));
    }
    if (claim_name && template_name)
      errors.push_back(
          invalid(at, go_form(claim, type),
                  "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"));
    if (!claim_name && !template_name)
      errors.push_back(invalid(at, go_form(claim, type),
                               "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    for (std::string_view key : kNames)
      if (const Json* object = present(claim, key))
        append(errors, check_format(at.child(key), object->as_string(), dns_subdomain_problems));
  }
  return errors;
}

FieldErrors check_gates(const FieldPath& path, const JsonArray& gates) {
  FieldErrors errors;
  const NamedItems by_name(gates, "name");
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const std::string_view name = gates[i].string_at("name");
    append(errors, check_format(path.index(i), name, qualified_name_problems));
    if (by_name.is_repeated(gates[i])) errors.push_back(duplicate(path.index(i), name));
  }
  return errors;
}

FieldErrors check_group(const FieldPath& path, const Json& group) {
  const FieldPath at = path.child("podGroupName");
  const Json* name = present(group, "podGroupName");
  if (!name) return {invalid(at, nullptr, "must specify one of: `podGroupName`")};
  return check_format(at, name->as_string(), dns_subdomain_problems);
}

// In the reference's order of validation: of two sources, the later one is refused.
constexpr std::string_view kVolumeSources[] = {"emptyDir",
                                               "hostPath",
                                               "gitRepo",
                                               "gcePersistentDisk",
                                               "awsElasticBlockStore",
                                               "secret",
                                               "nfs",
                                               "iscsi",
                                               "glusterfs",
                                               "flocker",
                                               "persistentVolumeClaim",
                                               "rbd",
                                               "cinder",
                                               "cephfs",
                                               "quobyte",
                                               "downwardAPI",
                                               "fc",
                                               "flexVolume",
                                               "configMap",
                                               "azureFile",
                                               "vsphereVolume",
                                               "photonPersistentDisk",
                                               "portworxVolume",
                                               "azureDisk",
                                               "storageos",
                                               "projected",
                                               "scaleIO",
                                               "csi",
                                               "ephemeral",
                                               "image"};

// A volume has exactly one source; the contents of the source are not validated.
FieldErrors check_volumes(const FieldPath& path, const JsonArray& volumes) {
  FieldErrors errors;
  const NamedItems by_name(volumes, "name");
  for (std::size_t i = 0; i < volumes.size() && !errors.full(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = volumes[i].string_at("name");
    append(errors, check_required(at.child("name"), name, dns_label_problems));
    if (!name.empty() && by_name.is_repeated(volumes[i])) errors.push_back(duplicate(at.child("name"), name));
    bool any = false;
    for (std::string_view source : kVolumeSources) {
      if (!present(volumes[i], source)) continue;
      if (any) errors.push_back(forbidden(at.child(source), "may not specify more than 1 volume type"));
      any = true;
    }
    if (!any) errors.push_back(required(at, "must specify a volume type"));
  }
  return errors;
}

FieldErrors check_enums(const FieldPath& path, const Json& spec) {
  FieldErrors errors = check_one_of(path.child("restartPolicy"), spec.string_at("restartPolicy"),
                                    {"Always", "OnFailure", "Never"});
  append(errors, check_one_of(path.child("dnsPolicy"), spec.string_at("dnsPolicy"),
                              {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"}));
  append(errors, check_labels(path.child("nodeSelector"), present(spec, "nodeSelector")));
  return errors;
}

FieldErrors validate_create(const Json& pod, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = *present(pod, "spec");
  FieldErrors errors = check_pod_spec(path, spec, pod.find("metadata")->string_at("name"));
  append(errors, check_images(path, spec));
  if (!spec.string_at("nodeName").empty() && !items(&spec, "schedulingGates").empty())
    errors.push_back(
        forbidden(path.child("nodeName"), "cannot be set until all schedulingGates have been cleared"));
  return errors;
}

bool has_both(const ResourceMap& amounts) {
  return amounts.count("cpu") > 0 && amounts.count("memory") > 0;
}

ResourceMap amounts_of(const Json& container, std::string_view which) {
  ResourceMap amounts;
  for (auto& [name, quantity] : decode_resource_map(present_at(container, {"resources", which})))
    if ((name == "cpu" || name == "memory") && !quantity.is_zero()) amounts.emplace(name, quantity);
  return amounts;
}

}  // namespace

FieldErrors check_pod_spec(const FieldPath& path, const Json& spec, std::string_view pod_name) {
  FieldErrors errors = check_volumes(path.child("volumes"), items(&spec, "volumes"));
  append(errors, check_claims(path.child("resourceClaims"), items(&spec, "resourceClaims"), pod_name));
  if (items(&spec, "containers").empty()) errors.push_back(required(path.child("containers")));
  for (std::string_view list : {"containers", "initContainers", "ephemeralContainers"})
    append(errors, check_containers(path, spec, list));
  append(errors, check_enums(path, spec));
  if (const Json* affinity = present(spec, "affinity"))
    append(errors, check_affinity(path.child("affinity"), *affinity));
  append(errors, check_gates(path.child("schedulingGates"), items(&spec, "schedulingGates")));
  if (const Json* group = present(spec, "schedulingGroup"))
    append(errors, check_group(path.child("schedulingGroup"), *group));
  append(errors,
         check_spread(path.child("topologySpreadConstraints"), items(&spec, "topologySpreadConstraints")));
  for (std::string_view name : {"serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"})
    if (const std::string_view text = spec.string_at(name); !text.empty())
      append(errors, check_format(path.child(name), text, dns_subdomain_problems));
  if (const Json* deadline = present(spec, "activeDeadlineSeconds"); deadline && deadline->as_int() < 1)
    errors.push_back(invalid(path.child("activeDeadlineSeconds"), *deadline,
                             "must be between 1 and 2147483647, inclusive"));
  for (std::string_view name : {"hostname", "subdomain"})
    if (const std::string_view text = spec.string_at(name); !text.empty())
      append(errors, check_format(path.child(name), text, dns_label_problems));
  append(errors, check_pod_tolerations(path.child("tolerations"), items(&spec, "tolerations")));
  if (const std::string_view policy = spec.string_at("preemptionPolicy"); !policy.empty())
    append(errors, check_one_of(path.child("preemptionPolicy"), policy, {"PreemptLowerPriority", "Never"}));
  for (const JsonMember& member : entries(present(spec, "overhead")))
    append(errors,
           check_amount(path.child("overhead").key(member.key), member.key, member.value.as_string()));
  return errors;
}

std::string_view qos_class_of(const Json& pod) {
  const Json* spec = present(pod, "spec");
  bool any = false;
  bool guaranteed = true;
  for (const char* list : {"containers", "initContainers"})
    for (const Json& container : items(spec, list)) {
      const ResourceMap requests = amounts_of(container, "requests");
      const ResourceMap limits = amounts_of(container, "limits");
      any |= !requests.empty() || !limits.empty();
      guaranteed &= has_both(limits) && requests == limits;
    }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

KindRules pod_rules() {
  KindRules rules;
  rules.resource = "pods";
  rules.has_generation = true;
  rules.answers_deleted_object = true;
  rules.set_defaults = set_pod_defaults;
  rules.admit_create = admit_create;
  rules.admit_update = admit_update;
  rules.prepare_create = prepare_create;
  rules.prepare_update = prepare_update;
  rules.prepare_status_update = prepare_status_update;
  rules.validate_create = validate_create;
  rules.validate_update = validate_pod_update;
  rules.validate_status_update = validate_pod_status_update;
  return rules;
}

}  // namespace berth::api
