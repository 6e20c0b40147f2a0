// Rules of core/v1 Pod (kinds/pod*.cc).
#pragma once

#include "api/kind_rules.h"
#include "api/names.h"

namespace berth::api {

KindRules pod_rules();

// status.qosClass: Guaranteed, Burstable or BestEffort.
std::string_view qos_class_of(const Json& pod);

// Defaults of a pod spec, also inside templates of other kinds.
void set_pod_spec_defaults(Json& spec);
// The same for the `template` member of `spec`.
void set_template_defaults(Json& spec);
// Defaults of a whole pod: requests from limits, and the common address of podIPs and podIP.
void set_pod_defaults(Json& pod);

// A pod spec; `old` is null at creation. `pod_name` is empty for a template.
FieldErrors check_pod_spec(const FieldPath& path, const Json& spec, std::string_view pod_name);
// What pods are refused, and templates are not.
FieldErrors check_images(const FieldPath& path, const Json& spec);
FieldErrors check_containers(const FieldPath& path, const Json& spec, std::string_view list);
// The probes of the container at `at`.
FieldErrors check_probes(const FieldPath& at, const Json& container);
NameProblems port_name_problems(std::string_view name);

// Warnings about an accepted pod, and about the template in an object of another kind at a path
// ("spec.template"); `names_pods`: its pods are named after the object. An update that leaves the generation
// has none of a template.
std::vector<std::string> pod_warnings(const Json& pod, const Json* old, const RuleContext& ctx);
struct TemplatePlace {
  std::string_view path;
  bool names_pods = false;
};
std::vector<std::string> template_warnings(const Json& object, const Json* old, const TemplatePlace& place);

// Updates of the main endpoint. Only the fields that Kubernetes permits may differ.
FieldErrors validate_pod_update(const Json& next, const Json& old, const RuleContext& ctx);
// Cost: only differences from `old` are validated.
FieldErrors validate_pod_status_update(const Json& next, const Json& old, const RuleContext& ctx);

}  // namespace berth::api
