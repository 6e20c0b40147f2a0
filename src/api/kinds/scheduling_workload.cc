#include <algorithm>
#include <set>
#include <string>

#include "api/kinds/scheduling_kinds.h"
#include "api/kinds/scheduling_parts.h"

namespace berth::api {
namespace {

constexpr std::size_t kTemplatesMax = 8;
constexpr int kTreeDepthMax = 4;
constexpr std::string_view kGroups = "podGroupTemplates";
constexpr std::string_view kComposites = "compositePodGroupTemplates";

const TypeInfo& workload_type(std::string_view name) {
  return table_type("scheduling.k8s.io", "v1beta1", name);
}

const Json& spec_of(const Json& workload) {
  static const Json kNone = Json::object();
  const Json* spec = present(workload, "spec");
  return spec ? *spec : kNone;
}

// The number of template levels from this one down.
int depth_of(const Json& composite) {
  int below = items(&composite, kGroups).empty() ? 0 : 1;
  for (const Json& child : items(&composite, kComposites)) below = std::max(below, depth_of(child));
  return below + 1;
}

// State of the checks over the whole tree.
struct Tree {
  std::set<std::string> names;
  const Json* first = nullptr;  // all others must have its priority
  bool one_priority = true;
  FieldErrors errors;

  void add(const Json& item) {
    if (!first) first = &item;
    one_priority = one_priority && same(present(item, "priority"), present(*first, "priority")) &&
                   text_at(item, "priorityClassName") == text_at(*first, "priorityClassName");
  }
  void add_name(const FieldPath& path, const Json& item) {
    const std::string name(text_at(item, "name"));
    if (!name.empty() && !names.insert(name).second) errors.push_back(duplicate(path.child("name"), name));
  }
};

// Duplicate names in one list are reported by the list itself.
void walk(const FieldPath& path, const Json& owner, Tree& tree) {
  for (std::string_view list : {kGroups, kComposites}) {
    const JsonArray& templates = items(&owner, list);
    const NamedItems named(templates, "name");
    for (std::size_t i = 0; i < templates.size(); ++i) {
      const FieldPath at = path.child(list).index(i);
      tree.add(templates[i]);
      if (!named.is_repeated(templates[i])) tree.add_name(at, templates[i]);
      if (list == kGroups) continue;
      if (items(&templates[i], kGroups).empty() && items(&templates[i], kComposites).empty())
        tree.errors.push_back(
            invalid(at, text_at(templates[i], "name"),
                    "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"));
      walk(at, templates[i], tree);
    }
  }
}

FieldErrors check_depth(const FieldPath& path, const Json& spec) {
  FieldErrors errors;
  const JsonArray& composites = items(&spec, kComposites);
  for (std::size_t i = 0; i < composites.size(); ++i)
    if (depth_of(composites[i]) > kTreeDepthMax)
      errors.push_back(invalid(
          path.child(kComposites).index(i),
          go_form_of_list(items(&composites[i], kComposites), workload_type("CompositePodGroupTemplate")),
          "maximum template hierarchy depth is 4"));
  return errors;
}

FieldErrors check_templates(const FieldPath& path, const Json& owner);

FieldErrors check_list(const FieldPath& path, const JsonArray& templates, GangOf gang) {
  FieldErrors errors = check_count(path, templates.size(), kTemplatesMax);
  if (!errors.empty()) return errors;
  for (std::size_t i = 0; i < templates.size(); ++i) {
    const FieldPath at = path.index(i);
    const Json& item = templates[i];
    if (item_named(templates, "name", text_at(item, "name")) != &item) errors.push_back(duplicate(at, item));
    append(errors, check_required(at.child("name"), text_at(item, "name"), dns_label_problems));
    append(errors, check_policy(at, item, gang));
    append(errors, check_group_fields(at, item));
    if (gang == GangOf::Groups) append(errors, check_templates(at, item));
  }
  return errors;
}

FieldErrors check_templates(const FieldPath& path, const Json& owner) {
  FieldErrors errors = check_list(path.child(kGroups), items(&owner, kGroups), GangOf::Pods);
  append(errors, check_list(path.child(kComposites), items(&owner, kComposites), GangOf::Groups));
  return errors;
}

FieldErrors check_controller(const FieldPath& path, const Json& controller) {
  FieldErrors errors;
  if (const std::string_view group = text_at(controller, "apiGroup"); !group.empty())
    append(errors, check_format(path.child("apiGroup"), group, dns_subdomain_problems));
  append(errors, check_required(path.child("kind"), text_at(controller, "kind"), path_segment_problems));
  append(errors, check_required(path.child("name"), text_at(controller, "name"), path_segment_problems));
  return errors;
}

FieldErrors validate(const Json& workload, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = spec_of(workload);
  FieldErrors errors = check_depth(path, spec);
  // A tree that is too deep is not validated further.
  if (!errors.empty()) return errors;
  Tree tree;
  walk(path, spec, tree);
  errors = std::move(tree.errors);
  if (!tree.one_priority)
    errors.push_back(invalid(path, nullptr, "detected multiple priority configurations"));
  append(errors, check_union(path, spec, {kGroups, kComposites}));
  if (const Json* controller = present(spec, "controllerRef"))
    append(errors, check_controller(path.child("controllerRef"), *controller));
  append(errors, check_templates(path, spec));
  return errors;
}

FieldErrors check_templates_update(const FieldPath& path, const Json& owner, const Json& old);

FieldErrors check_list_update(const FieldPath& path, const JsonArray& templates, const JsonArray& old,
                              GangOf gang) {
  FieldErrors errors = check_count(path, templates.size(), kTemplatesMax);
  if (!errors.empty()) return errors;
  for (std::size_t i = 0; i < templates.size(); ++i)
    if (item_named(templates, "name", text_at(templates[i], "name")) != &templates[i])
      errors.push_back(duplicate(path.index(i), templates[i]));
  for (const Json& before : old)
    if (!item_named(templates, "name", text_at(before, "name"))) {
      errors.push_back(forbidden(path, "item may not be removed"));
      break;
    }
  for (std::size_t i = 0; i < templates.size(); ++i) {
    const FieldPath at = path.index(i);
    const Json* before = item_named(old, "name", text_at(templates[i], "name"));
    if (!before) {
      errors.push_back(forbidden(at, "item may not be added"));
      continue;
    }
    append(errors, check_policy_update(at, templates[i], *before, gang));
    append(errors, check_unchanged(at, templates[i], *before,
                                   {"schedulingConstraints", "resourceClaims", "disruptionMode",
                                    "priorityClassName", "priority", "preemptionPolicy"}));
    if (gang == GangOf::Groups) append(errors, check_templates_update(at, templates[i], *before));
  }
  return errors;
}

FieldErrors check_templates_update(const FieldPath& path, const Json& owner, const Json& old) {
  FieldErrors errors =
      check_list_update(path.child(kGroups), items(&owner, kGroups), items(&old, kGroups), GangOf::Pods);
  append(errors, check_list_update(path.child(kComposites), items(&owner, kComposites),
                                   items(&old, kComposites), GangOf::Groups));
  return errors;
}

FieldErrors validate_update(const Json& next, const Json& old, const RuleContext&) {
  const FieldPath path("spec");
  FieldErrors errors = check_unchanged(path, spec_of(next), spec_of(old), {"controllerRef"});
  append(errors, check_templates_update(path, spec_of(next), spec_of(old)));
  return errors;
}

}  // namespace

KindRules workload_kind_rules() {
  KindRules rules;
  rules.group = "scheduling.k8s.io";
  rules.resource = "workloads";
  rules.needs_version_on_update = true;
  rules.prepare_create = [](Json& workload, const RuleContext& ctx) {
    drop_gated_fields(workload_type("Workload"), workload, nullptr, ctx.gates);
  };
  rules.prepare_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    drop_gated_fields(workload_type("Workload"), next, &old, ctx.gates);
  };
  rules.validate_create = validate;
  rules.validate_update = validate_update;
  return rules;
}

}  // namespace berth::api
