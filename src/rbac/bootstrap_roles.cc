#include "rbac/bootstrap_roles.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "rbac/escalation.h"
#include "rbac/policy_rule.h"
#include "rbac/roles.h"

namespace berth::rbac {
namespace {

constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view kAggregateTo = "rbac.authorization.k8s.io/aggregate-to-";

// `collected_by`: the role that has these rules as well. `collects`: its own name, where it collects others'.
struct RoleRow {
  std::string_view ns, name, collected_by, collects;
};

// Lists with commas; an empty group is core.
struct RuleRow {
  std::string_view ns, role, verbs, groups, resources, names, paths;
};

// Subjects: "User/NAME", "Group/NAME", "ServiceAccount/NAMESPACE/NAME", with commas.
struct BindingRow {
  std::string_view ns, name, kind, role, subjects;
};

#include "rbac/bootstrap_roles.inc"

// Who may view what runs may view what it uses. Source: the manifests of metrics-server.
constexpr std::string_view kMetricsReader = "system:aggregated-metrics-reader";
constexpr RoleRow kMetricsRole{"", kMetricsReader, "view"};
constexpr RuleRow kMetricsRule{"", kMetricsReader, "get,list,watch", "metrics.k8s.io", "nodes,pods"};

std::vector<std::string> listed(std::string_view list) {
  std::vector<std::string> items;
  for (;;) {
    const std::size_t comma = list.find(',');
    items.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    list.remove_prefix(comma + 1);
  }
}

std::vector<std::string> listed_or_none(std::string_view list) {
  return list.empty() ? std::vector<std::string>() : listed(list);
}

Json bootstrap_object(std::string_view kind, std::string_view ns, std::string_view name) {
  Json metadata = Json::object({{"name", name}});
  if (!ns.empty()) metadata["namespace"] = ns;
  metadata["labels"] = Json::object({{"kubernetes.io/bootstrapping", "rbac-defaults"}});
  metadata["annotations"] = Json::object({{std::string(kAutoUpdate), "true"}});
  return Json::object({{"kind", ns.empty() ? "Cluster" + std::string(kind) : std::string(kind)},
                       {"apiVersion", std::string(kGroup) + "/v1"},
                       {"metadata", std::move(metadata)}});
}

std::string aggregation_label(std::string_view role) {
  return std::string(kAggregateTo) + std::string(role);
}

Json role_object(const RoleRow& row) {
  Json role = bootstrap_object("Role", row.ns, row.name);
  if (!row.collected_by.empty()) role["metadata"]["labels"][aggregation_label(row.collected_by)] = "true";
  if (row.collects.empty()) return role;
  Json selector = Json::object({{"matchLabels", Json::object({{aggregation_label(row.collects), "true"}})}});
  role["aggregationRule"] = Json::object({{"clusterRoleSelectors", Json::array({std::move(selector)})}});
  return role;
}

Json rule_object(const RuleRow& row) {
  const bool of_paths = !row.paths.empty();
  const PolicyRule rule{listed(row.verbs), of_paths ? std::vector<std::string>() : listed(row.groups),
                        listed_or_none(row.resources), listed_or_none(row.names), listed_or_none(row.paths)};
  return rule.to_json();
}

Json subject_object(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view kind = text.substr(0, slash), name = text.substr(slash + 1);
  Json subject = Json::object({{"kind", kind}});
  if (kind != "ServiceAccount") {
    subject["apiGroup"] = kGroup;
    subject["name"] = name;
    return subject;
  }
  const std::size_t end = name.find('/');
  subject["name"] = name.substr(end + 1);
  subject["namespace"] = name.substr(0, end);
  return subject;
}

Json binding_object(const BindingRow& row) {
  Json binding = bootstrap_object("RoleBinding", row.ns, row.name);
  JsonArray subjects;
  for (const std::string& subject : listed_or_none(row.subjects)) subjects.push_back(subject_object(subject));
  if (!subjects.empty()) binding["subjects"] = std::move(subjects);
  binding["roleRef"] = Json::object({{"apiGroup", kGroup}, {"kind", row.kind}, {"name", row.role}});
  return binding;
}

// The rules of `wanted` that those of `stored` do not cover.
JsonArray missing_rules(const Json& stored, const Json& wanted) {
  const Role has = Role::read(stored), needs = Role::read(wanted);
  std::vector<const PolicyRule*> held;
  for (const PolicyRule& rule : has.own.rules) held.push_back(&rule);
  JsonArray missing;
  for (const PolicyRule& rule : needs.own.rules) {
    const PolicyRule* const granted[] = {&rule};
    const Result<std::vector<PolicyRule>> rights = missing_rights(held, granted);
    if (rights && !rights->empty()) missing.push_back(rule.to_json());
  }
  return missing;
}

JsonArray missing_subjects(const Json& stored, const Json& wanted) {
  const auto is_same = [](const Json& a, const Json& b) {
    return a.string_at("kind") == b.string_at("kind") && a.string_at("name") == b.string_at("name") &&
           a.string_at("namespace") == b.string_at("namespace");
  };
  JsonArray missing;
  const JsonArray& present = stored.items_at("subjects");
  for (const Json& subject : wanted.items_at("subjects"))
    if (std::none_of(present.begin(), present.end(),
                     [&](const Json& other) { return is_same(other, subject); }))
      missing.push_back(subject);
  return missing;
}

}  // namespace

std::vector<Json> bootstrap_objects() {
  std::vector<Json> objects;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const RoleRow& row : kRoles) {
    places[{row.ns, row.name}] = objects.size();
    objects.push_back(role_object(row));
  }
  std::map<std::size_t, JsonArray> rules;
  for (const RuleRow& row : kRules) rules[places.at({row.ns, row.role})].push_back(rule_object(row));
  for (auto& [place, list] : rules) objects[place]["rules"] = std::move(list);
  Json metrics_role = role_object(kMetricsRole);
  metrics_role["rules"] = Json::array({rule_object(kMetricsRule)});
  objects.push_back(std::move(metrics_role));
  for (const BindingRow& row : kBindings) objects.push_back(binding_object(row));
  return objects;
}

Json with_bootstrap_rights(const Json& stored, const Json& wanted) {
  const Json& annotation = stored.part("metadata").part("annotations").part(kAutoUpdate);
  if (annotation == Json("false") || wanted.find("aggregationRule")) return stored;
  const bool is_binding = wanted.find("roleRef");
  JsonArray missing = is_binding ? missing_subjects(stored, wanted) : missing_rules(stored, wanted);
  if (missing.empty()) return stored;
  const char* const member = is_binding ? "subjects" : "rules";
  Json next = stored;
  JsonArray all = stored.items_at(member);
  std::move(missing.begin(), missing.end(), std::back_inserter(all));
  next[member] = std::move(all);
  return next;
}

}  // namespace berth::rbac
