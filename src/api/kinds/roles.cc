// Rules of rbac.authorization.k8s.io: roles name verbs and resources or paths, bindings a role that stays.
//
// What a writer may grant is the server's matter (Access). Source: pkg/apis/rbac/validation of Kubernetes
// 1.37.
#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"

namespace berth::api {
namespace {

constexpr std::string_view kRoleGroup = "rbac.authorization.k8s.io";

FieldErrors check_rule(const FieldPath& path, const Json& rule, bool namespaced) {
  FieldErrors errors;
  const auto lacks = [&rule](std::string_view member) { return items(&rule, member).empty(); };
  if (!lacks("nonResourceURLs")) {
    const FieldPath at = path.child("nonResourceURLs");
    const Json& urls = rule.part("nonResourceURLs");
    if (namespaced) errors.push_back(invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"));
    if (!lacks("apiGroups") || !lacks("resources") || !lacks("resourceNames"))
      errors.push_back(
          invalid(at, urls, "rules cannot apply to both regular resources and non-resource URLs"));
    return errors;
  }
  if (lacks("apiGroups"))
    errors.push_back(required(path.child("apiGroups"), "resource rules must supply at least one api group"));
  if (lacks("resources"))
    errors.push_back(required(path.child("resources"), "resource rules must supply at least one resource"));
  return errors;
}

FieldErrors check_rules(const Json& role, bool namespaced) {
  FieldErrors errors;
  const JsonArray& rules = items(&role, "rules");
  for (std::size_t i = 0; i < rules.size() && !errors.full(); ++i)
    append(errors, check_rule(FieldPath("rules").index(i), rules[i], namespaced));
  return errors;
}

// Each item of the list has the member. The reference declares this with the field, and lists it after what
// its functions find.
FieldErrors check_items_have(std::string_view member, const Json& object, std::string_view list) {
  FieldErrors errors;
  const JsonArray& all = items(&object, list);
  for (std::size_t i = 0; i < all.size() && !errors.full(); ++i)
    if (all[i].items_at(member).empty() && all[i].string_at(member).empty())
      errors.push_back(required(FieldPath(list).index(i).child(member)));
  return errors;
}

FieldErrors validate_role(const Json& role, const RuleContext&) {
  FieldErrors errors = check_rules(role, true);
  append(errors, check_items_have("verbs", role, "rules"));
  return errors;
}

FieldErrors check_aggregation(const Json& role) {
  FieldErrors errors;
  const Json* aggregation = present(role, "aggregationRule");
  if (!aggregation) return errors;
  const FieldPath path = FieldPath("aggregationRule").child("clusterRoleSelectors");
  const JsonArray& selectors = items(aggregation, "clusterRoleSelectors");
  if (selectors.empty())
    errors.push_back(
        required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  for (std::size_t i = 0; i < selectors.size() && !errors.full(); ++i)
    append(errors, check_label_selector(path.index(i), selectors[i]));
  return errors;
}

FieldErrors validate_cluster_role(const Json& role, const RuleContext&) {
  FieldErrors errors = check_rules(role, false);
  append(errors, check_aggregation(role));
  append(errors, check_items_have("verbs", role, "rules"));
  return errors;
}

FieldErrors check_subject(const FieldPath& path, const Json& subject, bool namespaced) {
  FieldErrors errors;
  const std::string_view name = subject.string_at("name"), kind = subject.string_at("kind"),
                         group = subject.string_at("apiGroup");
  if (kind == "User" || kind == "Group") {
    if (group != kRoleGroup) errors.push_back(not_supported(path.child("apiGroup"), group, {kRoleGroup}));
    return errors;
  }
  if (kind != "ServiceAccount") {
    errors.push_back(not_supported(path.child("kind"), kind, {"ServiceAccount", "User", "Group"}));
    return errors;
  }
  if (!name.empty()) append(errors, check_format(path.child("name"), name, dns_subdomain_problems));
  if (!group.empty()) errors.push_back(not_supported(path.child("apiGroup"), group, {""}));
  if (!namespaced && subject.string_at("namespace").empty())
    errors.push_back(required(path.child("namespace")));
  return errors;
}

FieldErrors check_role_binding(const Json& binding, bool namespaced) {
  FieldErrors errors;
  const FieldPath path("roleRef");
  const Json& role = binding.part("roleRef");
  const std::string_view group = role.string_at("apiGroup"), kind = role.string_at("kind"),
                         name = role.string_at("name");
  if (group != kRoleGroup) errors.push_back(not_supported(path.child("apiGroup"), group, {kRoleGroup}));
  if (namespaced && kind != "Role" && kind != "ClusterRole")
    errors.push_back(not_supported(path.child("kind"), kind, {"Role", "ClusterRole"}));
  if (!namespaced && kind != "ClusterRole")
    errors.push_back(not_supported(path.child("kind"), kind, {"ClusterRole"}));
  if (name.empty())
    errors.push_back(required(path.child("name")));
  else
    append(errors, check_format(path.child("name"), name, path_segment_problems));
  const JsonArray& subjects = items(&binding, "subjects");
  for (std::size_t i = 0; i < subjects.size() && !errors.full(); ++i)
    append(errors, check_subject(FieldPath("subjects").index(i), subjects[i], namespaced));
  append(errors, check_items_have("name", binding, "subjects"));
  return errors;
}

FieldErrors check_role_stays(FieldErrors errors, const Json& next, const Json& old) {
  if (!same(present(next, "roleRef"), present(old, "roleRef")))
    errors.push_back(invalid("roleRef",
                             go_form(next.part("roleRef"), table_type(kRoleGroup, "v1", "RoleRef")),
                             "field is immutable"));
  return errors;
}

}  // namespace

void adjust_roles(KindRules& rules) {
  rules.validate_create = validate_role;
}

void adjust_cluster_roles(KindRules& rules) {
  rules.validate_create = validate_cluster_role;
}

void adjust_role_bindings(KindRules& rules) {
  rules.validate_create = [](const Json& binding, const RuleContext&) {
    return check_role_binding(binding, true);
  };
  rules.validate_update = [](const Json& next, const Json& old, const RuleContext&) {
    return check_role_stays(check_role_binding(next, true), next, old);
  };
}

void adjust_cluster_role_bindings(KindRules& rules) {
  rules.validate_create = [](const Json& binding, const RuleContext&) {
    return check_role_binding(binding, false);
  };
  rules.validate_update = [](const Json& next, const Json& old, const RuleContext&) {
    return check_role_stays(check_role_binding(next, false), next, old);
  };
}

}  // namespace berth::api
