// Rules of node.k8s.io RuntimeClass, and the admission of pods that name one.
//
// Source: plugin/pkg/admission/runtimeclass and pkg/apis/node/validation of Kubernetes 1.37.
#include <algorithm>

#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"

namespace berth::api {
namespace {

constexpr std::string_view kRuntimeClasses = "runtimeclasses.node.k8s.io";

FieldErrors check_class_tolerations(const FieldPath& path, const JsonArray& tolerations) {
  FieldErrors errors = check_pod_tolerations(path, tolerations);
  ItemSet seen;
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    Json key = tolerations[i];
    key.as_object().erase("tolerationSeconds");
    if (!seen.add(key))
      errors.push_back(duplicate(path.index(i), go_form(tolerations[i], core_type("Toleration"))));
  }
  return errors;
}

FieldErrors validate_class(const Json& object, const RuleContext&) {
  FieldErrors errors;
  const std::string_view handler = object.string_at("handler");
  if (handler.empty())
    errors.push_back(required("handler"));
  else
    append(errors, check_format("handler", handler, dns_label_problems));
  if (const Json* overhead = present(object, "overhead")) {
    const Json* fixed = present(overhead, "podFixed");
    Json resources = Json::object();
    if (fixed) resources["limits"] = *fixed;
    static const JsonArray kNoClaims;
    append(errors, check_resources(FieldPath("overhead"), resources, NamedItems(kNoClaims, "name")));
  }
  if (const Json* scheduling = present(object, "scheduling")) {
    const FieldPath path("scheduling");
    append(errors, check_labels(path.child("nodeSelector"), present(scheduling, "nodeSelector")));
    append(errors, check_class_tolerations(path.child("tolerations"), items(scheduling, "tolerations")));
  }
  return errors;
}

FieldErrors validate_class_update(const Json& next, const Json& old, const RuleContext&) {
  const std::string_view handler = next.string_at("handler");
  if (handler == old.string_at("handler")) return {};
  FieldErrors errors;
  if (!handler.empty()) errors = check_format("handler", handler, dns_label_problems);
  errors.push_back(invalid("handler", Json(), "field is immutable"));
  if (handler.empty()) errors.push_back(required("handler"));
  return errors;
}

// Every taint that `less` tolerates is tolerated by `more`, for as long.
bool is_superset(const Json& more, const Json& less) {
  if (more == less) return true;
  const std::string_view key = more.string_at("key"), effect = more.string_at("effect");
  const bool exists = more.string_at("operator") == "Exists";
  if (less.string_at("key") != key && !(key.empty() && exists)) return false;
  if (less.string_at("effect") != effect && !effect.empty()) return false;
  const Json* seconds = present(more, "tolerationSeconds");
  const Json* asked = present(less, "tolerationSeconds");
  if (effect == "NoExecute" && seconds && (!asked || asked->as_int() > seconds->as_int())) return false;
  if (exists) return true;
  return less.string_at("operator") == "Equal" && less.string_at("value") == more.string_at("value");
}

// Of two of which one is the superset only that one is kept.
JsonArray merged_tolerations(JsonArray all, const JsonArray& more) {
  all.insert(all.end(), more.begin(), more.end());
  JsonArray merged;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto covers = [&](const Json& other) { return is_superset(other, all[i]); };
    const auto covers_more = [&](const Json& other) { return other != all[i] && covers(other); };
    const bool redundant =
        std::any_of(merged.begin(), merged.end(), covers) ||
        std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), covers_more);
    if (!redundant) merged.push_back(all[i]);
  }
  return merged;
}

std::optional<std::string> add_scheduling(Json& spec, const Json& scheduling) {
  static const TypeInfo& type = core_type("PodSpec");
  if (const JsonObject& wanted = entries(present(scheduling, "nodeSelector")); !wanted.empty()) {
    put_default(spec, type, "nodeSelector", Json::object());
    Json& selector = *present(spec, "nodeSelector");
    for (const JsonMember& label : wanted) {
      const Json* own = present(selector, label.key);
      if (own && *own != label.value)
        return "conflict: runtimeClass.scheduling.nodeSelector[" + label.key +
               "] = " + label.value.as_string() + "; pod.spec.nodeSelector[" + label.key +
               "] = " + own->as_string();
      if (!own) selector[label.key] = label.value;
    }
  }
  if (const JsonArray& more = items(&scheduling, "tolerations"); !more.empty())
    put(spec, type, "tolerations", merged_tolerations(std::as_const(spec).items_at("tolerations"), more));
  return std::nullopt;
}

}  // namespace

std::optional<Rejection> admit_runtime_class(Json& pod, const RuleContext& ctx) {
  const auto refuse = [](std::string message) { return Rejection{403, "Forbidden", std::move(message)}; };
  Json& spec = pod["spec"];
  const std::string_view name = spec.string_at("runtimeClassName");
  const Json* own = present(spec, "overhead");
  const std::optional<Json> found = name.empty() ? std::nullopt : ctx.read(kRuntimeClasses, "", name);
  if (!name.empty() && !found)
    return refuse("pod rejected: RuntimeClass \"" + std::string(name) + "\" not found");
  const Json* overhead = found ? present(*found, "overhead") : nullptr;
  if (!overhead) {
    if (own)
      return refuse("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
  } else if (const Json* fixed = present(overhead, "podFixed")) {
    if (own && !entries(own).empty() && *own != *fixed)
      return refuse("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    put(spec, core_type("PodSpec"), "overhead", *fixed);
  }
  const Json* scheduling = found ? present(*found, "scheduling") : nullptr;
  if (!scheduling) return std::nullopt;
  if (const auto conflict = add_scheduling(spec, *scheduling)) return refuse(*conflict);
  return std::nullopt;
}

void adjust_runtime_classes(KindRules& rules) {
  rules.validate_create = validate_class;
  rules.validate_update = validate_class_update;
}

}  // namespace berth::api
