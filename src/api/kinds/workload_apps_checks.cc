// Validation of deployments, replica sets, stateful sets, daemon sets and replication controllers.
//
// Source: k8s.io/kubernetes pkg/apis/apps/validation (1.37); the order of the errors is that of the source.
#include <algorithm>
#include <set>

#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"
#include "api/kinds/workload_kinds.h"
#include "api/selectors.h"
#include "api/types/meta.h"

namespace berth::api {
namespace {

constexpr std::string_view kNotSelected = "`selector` does not match template `labels`";

const TypeInfo& type_of_apps(std::string_view name) {
  return table_type("apps", "v1", name);
}

bool is_percent(std::string_view text) {
  return text.size() > 1 && text.find_first_not_of("0123456789") == text.size() - 1 && text.back() == '%';
}

// The number of "5", "5%" and 5.
std::int64_t amount_in(const Json& limit) {
  if (!limit.is_string()) return limit.is_int() ? limit.as_int() : 0;
  std::string_view text = limit.as_string();
  if (is_percent(text)) text.remove_suffix(1);
  return to_int(text).value_or(0);
}

FieldErrors check_whole(const FieldPath& path, const Json& limit) {
  const bool beyond = limit.is_string() && is_percent(limit.as_string()) && amount_in(limit) > 100;
  return beyond ? FieldErrors{invalid(path, limit, "must not be greater than 100%")} : FieldErrors();
}

FieldErrors check_deployment_limits(const FieldPath& path, const Json& limits) {
  const Json& away = limits.part("maxUnavailable");
  const Json& surge = limits.part("maxSurge");
  FieldErrors errors = check_amount_or_percent(path.child("maxUnavailable"), away);
  append(errors, check_amount_or_percent(path.child("maxSurge"), surge));
  if (amount_in(away) == 0 && amount_in(surge) == 0)
    errors.push_back(invalid(path.child("maxUnavailable"), away, "may not be 0 when `maxSurge` is 0"));
  append(errors, check_whole(path.child("maxUnavailable"), away));
  return errors;
}

FieldErrors check_deployment_strategy(const FieldPath& path, const Json& strategy) {
  const std::string_view type = strategy.string_at("type");
  const Json* limits = present(strategy, "rollingUpdate");
  if (type == "Recreate")
    return limits ? FieldErrors{forbidden(path.child("rollingUpdate"),
                                          "may not be specified when strategy `type` is 'Recreate'")}
                  : FieldErrors();
  if (type != "RollingUpdate")
    return {not_supported(path, go_form(strategy, type_of_apps("DeploymentStrategy")),
                          {"Recreate", "RollingUpdate"})};
  if (!limits) return {required(path.child("rollingUpdate"), "this should be defaulted and never be nil")};
  return check_deployment_limits(path.child("rollingUpdate"), *limits);
}

FieldErrors check_daemon_limits(const FieldPath& path, const Json& limits) {
  const Json& away = limits.part("maxUnavailable");
  const Json& surge = limits.part("maxSurge");
  FieldErrors errors = check_amount_or_percent(path.child("maxUnavailable"), away);
  append(errors, check_amount_or_percent(path.child("maxSurge"), surge));
  append(errors, check_whole(path.child("maxUnavailable"), away));
  append(errors, check_whole(path.child("maxSurge"), surge));
  const bool may_be_away = amount_in(away) != 0, may_surge = amount_in(surge) != 0;
  if (may_be_away && may_surge)
    errors.push_back(
        invalid(path.child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero"));
  if (!may_be_away && !may_surge)
    errors.push_back(required(path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"));
  return errors;
}

FieldErrors check_daemon_strategy(const FieldPath& path, const Json& strategy) {
  const std::string_view type = strategy.string_at("type");
  if (type == "OnDelete") return {};
  if (type != "RollingUpdate")
    return {not_supported(path, go_form(strategy, type_of_apps("DaemonSetUpdateStrategy")),
                          {"RollingUpdate", "OnDelete"})};
  const Json* limits = present(strategy, "rollingUpdate");
  if (!limits) return {required(path.child("rollingUpdate"))};
  return check_daemon_limits(path.child("rollingUpdate"), *limits);
}

FieldErrors check_stateful_strategy(const FieldPath& path, const Json& strategy) {
  const std::string_view type = strategy.string_at("type");
  const Json* limits = present(strategy, "rollingUpdate");
  const FieldPath at = path.child("rollingUpdate");
  if (type.empty()) return {required(path)};
  if (type == "OnDelete") {
    if (!limits) return {};
    return {invalid(at, go_form(*limits, type_of_apps("RollingUpdateStatefulSetStrategy")),
                    "only allowed for updateStrategy 'RollingUpdate'")};
  }
  if (type != "RollingUpdate")
    return {invalid(path, go_form(strategy, type_of_apps("StatefulSetUpdateStrategy")),
                    "must be 'RollingUpdate' or 'OnDelete'")};
  if (!limits) return {};
  FieldErrors errors = check_not_negative(at.child("partition"), *limits, "partition");
  const Json* away = present(limits, "maxUnavailable");
  if (!away) return errors;
  append(errors, check_amount_or_percent(at.child("maxUnavailable"), *away));
  if (amount_in(*away) == 0) errors.push_back(invalid(at.child("maxUnavailable"), *away, "cannot be 0"));
  append(errors, check_whole(at.child("maxUnavailable"), *away));
  return errors;
}

bool selects_nothing_named(const Json& selector) {
  return entries(present(selector, "matchLabels")).empty() && items(&selector, "matchExpressions").empty();
}

FieldErrors check_restarts(const FieldPath& path, const Json& pod, std::string_view kind) {
  FieldErrors errors;
  if (const std::string_view policy = pod.string_at("restartPolicy"); policy != "Always")
    errors.push_back(not_supported(path.child("restartPolicy"), policy, {"Always"}));
  if (present(pod, "activeDeadlineSeconds"))
    errors.push_back(forbidden(path.child("activeDeadlineSeconds"),
                               "activeDeadlineSeconds in " + std::string(kind) + " is not Supported"));
  return errors;
}

FieldErrors check_metadata_of_template(const FieldPath& path, const Json& pod_template) {
  const Json& metadata = pod_template.part("metadata");
  FieldErrors errors = check_labels(path.child("labels"), present(metadata, "labels"));
  append(errors, check_annotations(path.child("annotations"), present(metadata, "annotations")));
  return errors;
}

const Json& pod_of(const Json& spec) {
  static const Json kNone = Json::object();
  const Json* pod = present_at(spec, {"template", "spec"});
  return pod ? *pod : kNone;
}

// The template of a stateful set as its pods will be: with the volumes of the claims, and names of their own.
Json stateful_template(const Json& spec) {
  Json made = spec.part("template");
  Json* pod = present(made, "spec");
  if (!pod) return made;
  for (std::string_view key : {"hostname", "subdomain"}) pod->as_object().erase(key);
  const JsonArray& claims = items(&spec, "volumeClaimTemplates");
  if (claims.empty()) return made;
  JsonArray volumes;
  std::set<std::string_view> seen;
  for (const Json& claim : claims) {
    const Json& name = claim.part("metadata").part("name");
    if (!seen.insert(claim.part("metadata").string_at("name")).second) continue;
    volumes.push_back(
        Json::object({{"name", name},
                      {"persistentVolumeClaim", Json::object({{"claimName", name}, {"readOnly", false}})}}));
  }
  for (const Json& volume : items(pod, "volumes"))
    if (!seen.contains(volume.string_at("name"))) volumes.push_back(volume);
  (*pod)["volumes"] = std::move(volumes);
  return made;
}

// The selector, and the template where the selector can be read. `kind` is the one that the texts name:
// replica sets are told of deployments.
FieldErrors check_selected_template(const FieldPath& path, const Json& spec, std::string_view kind,
                                    std::string_view unreadable) {
  const FieldPath of_selector = path.child("selector");
  const Json* selector = present(spec, "selector");
  FieldErrors errors = selector ? check_label_selector(of_selector, *selector) : FieldErrors();
  const bool readable = errors.empty();
  if (!selector) errors.push_back(required(of_selector));
  if (selector && selects_nothing_named(*selector))
    errors.push_back(invalid(of_selector, *selector, "empty selector is invalid for " + std::string(kind)));
  if (!readable) {
    errors.push_back(invalid(of_selector, *selector, unreadable));
    return errors;
  }
  const FieldPath at = path.child("template");
  append(errors, check_found(at, selector, present_at(spec, {"template", "metadata", "labels"})));
  if (kind == "deployment") {
    append(errors, check_pod_template(at, spec.part("template")));
    append(errors, check_restarts(at.child("spec"), pod_of(spec), "ReplicaSet"));
    return errors;
  }
  append(errors, check_pod_template(at, stateful_template(spec)));
  append(errors, check_metadata_of_template(at, spec.part("template")));  // once more, as the source has it
  append(errors, check_restarts(at.child("spec"), pod_of(spec), "StatefulSet"));
  return errors;
}

FieldErrors check_counts(const FieldPath& path, const Json& spec,
                         std::initializer_list<std::string_view> keys) {
  FieldErrors errors;
  for (std::string_view key : keys) append(errors, check_not_negative(path.child(key), spec, key));
  return errors;
}

FieldErrors check_same(const Json& next, const Json& old, std::string_view key) {
  return check_immutable(FieldPath("spec").child(key), present_at(next, {"spec", key}),
                         present_at(old, {"spec", key}));
}

}  // namespace

FieldErrors check_found(const FieldPath& path, const Json* selector, const Json* labels) {
  if (selector) {
    const Result<LabelSelector> parsed = LabelSelector::of(*selector);
    if (!parsed || parsed->selects_everything() || parsed->matches(labels)) return {};
  }
  return {invalid(path.child("metadata").child("labels"), value_or_null(labels), kNotSelected)};
}

FieldErrors check_amount_or_percent(const std::string& path, const Json& amount) {
  if (amount.is_int() && amount.as_int() < 0)
    return {invalid(path, amount, "must be greater than or equal to 0")};
  if (!amount.is_string() || is_percent(amount.as_string())) return {};
  return {invalid(path, amount,
                  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
                  "'93%', regex used for validation is '[0-9]+%')")};
}

FieldErrors check_pod_template(const FieldPath& path, const Json& pod_template) {
  FieldErrors errors = check_metadata_of_template(path, pod_template);
  static const Json kNone = Json::object();
  const Json* pod = present(pod_template, "spec");
  append(errors, check_pod_spec(path.child("spec"), pod ? *pod : kNone, ""));
  return errors;
}

FieldErrors validate_replication_controller(const Json& object, const RuleContext&) {
  const FieldPath path("spec");
  const FieldPath at = path.child("template");
  const Json& spec = object.part("spec");
  FieldErrors errors = check_counts(path, spec, {"minReadySeconds", "replicas"});
  const Json* selector = present(spec, "selector");
  if (entries(selector).empty()) errors.push_back(required(path.child("selector")));
  if (!present(spec, "template")) {
    errors.push_back(required(at));
    return errors;
  }
  const Json* labels = present_at(spec, {"template", "metadata", "labels"});
  for (const JsonMember& wanted : entries(selector)) {
    if (const Json* own = present(labels, wanted.key); own && *own == wanted.value) continue;
    errors.push_back(invalid(at.child("metadata").child("labels"), value_or_null(labels), kNotSelected));
    break;
  }
  append(errors, check_pod_template(at, spec.part("template")));
  append(errors, check_restarts(at.child("spec"), pod_of(spec), "ReplicationController"));
  return errors;
}

FieldErrors validate_deployment(const Json& object, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = *present(object, "spec");
  FieldErrors errors = check_counts(path, spec, {"replicas"});
  append(errors, check_selected_template(path, spec, "deployment", "invalid label selector"));
  append(errors, check_deployment_strategy(path.child("strategy"), spec.part("strategy")));
  append(errors,
         check_counts(path, spec, {"minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"}));
  const Json* deadline = present(spec, "progressDeadlineSeconds");
  if (deadline && deadline->as_int() <= spec.int_at("minReadySeconds"))
    errors.push_back(
        invalid(path.child("progressDeadlineSeconds"), *deadline, "must be greater than minReadySeconds"));
  return errors;
}

FieldErrors validate_replica_set(const Json& object, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = *present(object, "spec");
  FieldErrors errors = check_counts(path, spec, {"replicas", "minReadySeconds"});
  append(errors, check_selected_template(path, spec, "deployment", "invalid label selector"));
  return errors;
}

FieldErrors validate_stateful_set(const Json& object, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = *present(object, "spec");
  FieldErrors errors;
  if (const std::string_view policy = spec.string_at("podManagementPolicy");
      policy != "OrderedReady" && policy != "Parallel")
    errors.push_back(
        invalid(path.child("podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'"));
  append(errors, check_stateful_strategy(path.child("updateStrategy"), spec.part("updateStrategy")));
  const Json& retention = spec.part("persistentVolumeClaimRetentionPolicy");
  for (std::string_view key : {"whenDeleted", "whenScaled"})
    if (!retention.is_null())
      append(errors, check_one_of(path.child("persistentVolumeClaimRetentionPolicy").child(key),
                                  retention.string_at(key), {"Delete", "Retain"}));
  append(errors, check_counts(path, spec, {"replicas", "minReadySeconds"}));
  append(errors, check_not_negative(path.child("ordinals.start"), spec.part("ordinals"), "start"));
  append(errors, check_selected_template(path, spec, "statefulset", ""));
  return errors;
}

FieldErrors validate_daemon_set(const Json& object, const RuleContext&) {
  const FieldPath path("spec");
  const FieldPath at = path.child("template");
  const Json& spec = *present(object, "spec");
  const Json* selector = present(spec, "selector");
  FieldErrors errors;
  if (selector) append(errors, check_label_selector(path.child("selector"), *selector));
  if (errors.empty())
    append(errors, check_found(at, selector, present_at(spec, {"template", "metadata", "labels"})));
  if (selector && selects_nothing_named(*selector))
    errors.push_back(invalid(path.child("selector"), *selector, "empty selector is invalid for daemonset"));
  append(errors, check_pod_template(at, spec.part("template")));
  append(errors, check_restarts(at.child("spec"), pod_of(spec), "DaemonSet"));
  append(errors, check_counts(path, spec, {"minReadySeconds"}));
  append(errors, check_daemon_strategy(path.child("updateStrategy"), spec.part("updateStrategy")));
  append(errors, check_counts(path, spec, {"revisionHistoryLimit"}));
  return errors;
}

FieldErrors validate_deployment_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = validate_deployment(next, ctx);
  append(errors, check_same(next, old, "selector"));
  return errors;
}

FieldErrors validate_replica_set_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = validate_replica_set(next, ctx);
  append(errors, check_same(next, old, "selector"));
  return errors;
}

FieldErrors validate_stateful_set_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = validate_stateful_set(next, ctx);
  for (std::string_view key : {"selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"})
    append(errors, check_same(next, old, key));
  return errors;
}

FieldErrors validate_daemon_set_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = check_same(next, old, "selector");
  append(errors, validate_daemon_set(next, ctx));
  return errors;
}

}  // namespace berth::api
