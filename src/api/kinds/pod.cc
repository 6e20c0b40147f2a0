#include "api/kinds/pod.h"

#include <algorithm>
#include <set>

#include "api/gates.h"
#include "api/types/meta.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";
constexpr int kDefaultTolerationS = 300;

void set_defaults(Json& pod) {
  set_pod_spec_defaults(pod["spec"]);
  Json& spec = pod["spec"];
  if (spec["enableServiceLinks"].is_null()) spec["enableServiceLinks"] = true;
}

// What a kubelet's absence means to a pod unless it says otherwise: five minutes.
void add_default_toleration(Json& spec, std::string_view key) {
  Json& tolerations = spec["tolerations"];
  if (!tolerations.is_array()) tolerations = Json::array();
  for (const Json& toleration : tolerations.as_array()) {
    const std::string_view effect = toleration.string_at("effect");
    const bool covers = toleration.string_at("key") == key || toleration.string_at("key").empty();
    if (covers && (effect.empty() || effect == "NoExecute")) return;
  }
  tolerations.as_array().push_back(Json::object({{"key", key},
                                                 {"operator", "Exists"},
                                                 {"effect", "NoExecute"},
                                                 {"tolerationSeconds", kDefaultTolerationS}}));
}

struct Priority {
  std::int64_t value = 0;
  std::string class_name;
  std::string preemption_policy = "PreemptLowerPriority";
};

constexpr std::pair<std::string_view, std::int64_t> kSystemClasses[] = {
    {"system-node-critical", 2'000'001'000}, {"system-cluster-critical", 2'000'000'000}};

Priority of_class(const Json& object) {
  const std::string_view policy = object.string_at("preemptionPolicy");
  return {object.int_at("value"), std::string(object.find("metadata")->string_at("name")),
          policy.empty() ? "PreemptLowerPriority" : std::string(policy)};
}

Priority global_default(const RuleContext& context) {
  for (const Json& object : context.list("priorityclasses.scheduling.k8s.io", ""))
    if (object.bool_at("globalDefault")) return of_class(object);
  return {};
}

std::optional<Rejection> admit_create(Json& pod, const RuleContext& context) {
  Json& spec = pod["spec"];
  const std::string name(spec.string_at("priorityClassName"));
  Priority priority;
  if (name.empty()) {
    priority = global_default(context);
  } else if (const auto object = context.read("priorityclasses.scheduling.k8s.io", "", name)) {
    priority = of_class(*object);
  } else {
    const auto* system = std::find_if(std::begin(kSystemClasses), std::end(kSystemClasses),
                                      [&](const auto& row) { return row.first == name; });
    if (system == std::end(kSystemClasses))
      return Rejection{403, "Forbidden", "no PriorityClass with name " + name + " was found"};
    priority = {system->second, name, "PreemptLowerPriority"};
  }
  const Json* asked = spec.find("priority");
  if (asked && asked->is_int() && asked->as_int() != priority.value)
    return Rejection{403, "Forbidden",
                     "the integer value of priority (" + std::to_string(asked->as_int()) +
                         ") must not be provided in pod spec; priority admission controller computed " +
                         std::to_string(priority.value) + " from the given PriorityClass name"};
  add_default_toleration(spec, kNotReady);
  add_default_toleration(spec, kUnreachable);
  if (!priority.class_name.empty()) spec["priorityClassName"] = priority.class_name;
  spec["priority"] = priority.value;
  if (spec["preemptionPolicy"].is_null()) spec["preemptionPolicy"] = priority.preemption_policy;
  return std::nullopt;
}

void prepare_create(Json& pod, const RuleContext& context) {
  Json status = Json::object({{"phase", "Pending"}});
  if (!pod["spec"].items_at("schedulingGates").empty())
    status["conditions"] =
        Json::array({Json::object({{"type", "PodScheduled"},
                                   {"status", "False"},
                                   {"lastProbeTime", Json()},
                                   {"lastTransitionTime", format_time(context.now)},
                                   {"reason", "SchedulingGated"},
                                   {"message", "Scheduling is blocked due to non-empty scheduling gates"}})});
  status["qosClass"] = qos_class_of(pod);
  pod["status"] = std::move(status);
  if (!context.gates.enabled("GenericWorkload")) pod["spec"].as_object().erase("schedulingGroup");
}

void prepare_update(Json& next, const Json& old, const RuleContext&) {
  if (const Json* node = old.find_path({"spec", "nodeName"})) next["spec"]["nodeName"] = *node;
}

// Metadata may change through the status subresource; the spec and the owners may not.
void prepare_status_update(Json& next, const Json& old, const RuleContext&) {
  if (const Json* spec = old.find("spec")) next["spec"] = *spec;
  Json& metadata = next["metadata"];
  const Json* owners = old.find_path({"metadata", "ownerReferences"});
  if (owners)
    metadata["ownerReferences"] = *owners;
  else
    metadata.as_object().erase("ownerReferences");
  if (const Json* qos = old.find_path({"status", "qosClass"})) next["status"]["qosClass"] = *qos;
}

FieldErrors validate_create(const Json& pod, const RuleContext&) {
  FieldErrors errors;
  static const Json kNone;
  const Json& spec = pod.find("spec") ? *pod.find("spec") : kNone;
  const FieldPath containers = FieldPath("spec").child("containers");
  if (spec.items_at("containers").empty()) errors.push_back(required(containers));
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < spec.items_at("containers").size(); ++i) {
    const Json& container = spec.items_at("containers")[i];
    const FieldPath path = containers.index(i);
    const std::string_view name = container.string_at("name");
    if (name.empty()) errors.push_back(required(path.child("name")));
    if (!name.empty() && !names.insert(name).second) errors.push_back(duplicate(path.child("name"), name));
    if (container.string_at("image").empty()) errors.push_back(required(path.child("image")));
  }
  return errors;
}

bool has_both(const ResourceMap& amounts) {
  return amounts.count("cpu") > 0 && amounts.count("memory") > 0;
}

ResourceMap amounts_of(const Json& container, std::string_view which) {
  const Json* resources = container.find("resources");
  ResourceMap amounts;
  for (auto& [name, quantity] : decode_resource_map(resources ? resources->find(which) : nullptr))
    if ((name == "cpu" || name == "memory") && !quantity.is_zero()) amounts.emplace(name, quantity);
  return amounts;
}

}  // namespace

std::string_view qos_class_of(const Json& pod) {
  const Json* spec = pod.find("spec");
  bool any = false, guaranteed = true;
  for (const char* list : {"containers", "initContainers"})
    for (const Json& container : spec ? spec->items_at(list) : JsonArray()) {
      const ResourceMap requests = amounts_of(container, "requests"),
                        limits = amounts_of(container, "limits");
      any |= !requests.empty() || !limits.empty();
      guaranteed &= has_both(limits) && requests == limits;
    }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

KindRules pod_rules() {
  KindRules rules;
  rules.group = "";
  rules.resource = "pods";
  rules.has_generation = true;
  rules.answers_deleted_object = true;
  rules.set_defaults = set_defaults;
  rules.admit_create = admit_create;
  rules.prepare_create = prepare_create;
  rules.prepare_update = prepare_update;
  rules.prepare_status_update = prepare_status_update;
  rules.validate_create = validate_create;
  return rules;
}

}  // namespace berth::api
