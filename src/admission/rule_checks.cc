#include "admission/rule_checks.h"

#include <algorithm>
#include <set>

#include "admission/match_conditions.h"
#include "api/kinds/core_parts.h"
#include "api/names.h"
#include "base/ascii.h"

namespace berth::admission {
namespace {

using api::FieldErrors;
using api::FieldPath;

bool has(const JsonArray& items, std::string_view text) {
  return std::find(items.begin(), items.end(), Json(text)) != items.end();
}

void check_wildcard(FieldErrors& errors, const JsonArray& items, const FieldPath& path,
                    std::string_view what) {
  if (items.empty()) errors.push_back(api::required(path));
  if (items.size() > 1 && has(items, "*"))
    errors.push_back(
        api::invalid(path, items, "if '*' is present, must not specify other " + std::string(what)));
}

void check_resources(FieldErrors& errors, const JsonArray& resources, const FieldPath& path) {
  if (resources.empty()) errors.push_back(api::required(path));
  std::set<std::string_view> with_every_subresource, of_every_resource;
  bool has_plain = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string_view text = resources[i].is_string() ? std::string_view(resources[i].as_string()) : "";
    if (text.empty()) {
      errors.push_back(api::required(path.index(i)));
      continue;
    }
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
      has_plain = text != "*";
      continue;
    }
    const std::string_view resource = text.substr(0, slash), below = text.substr(slash + 1);
    const auto refuse = [&](const std::string& present) {
      errors.push_back(api::invalid(
          path.index(i), text, "if '" + present + "' is present, must not specify " + std::string(text)));
    };
    if (with_every_subresource.contains(resource)) refuse(std::string(resource) + "/*");
    if (of_every_resource.contains(below)) refuse("*/" + std::string(below));
    if (below == "*") with_every_subresource.insert(resource);
    if (resource == "*") of_every_resource.insert(below);
  }
  if (resources.size() > 1 && has(resources, "*/*"))
    errors.push_back(api::invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  if (has(resources, "*") && has_plain)
    errors.push_back(api::invalid(
        path, resources, "if '*' is present, must not specify other resources without subresources"));
}

}  // namespace

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",") + text;
  return all;
}

void check_rule(FieldErrors& errors, const Json& rule, const FieldPath& path) {
  constexpr std::string_view kOperations[] = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};
  const JsonArray& operations = rule.items_at("operations");
  check_wildcard(errors, operations, path.child("operations"), "operations");
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (std::none_of(std::begin(kOperations), std::end(kOperations),
                     [&](std::string_view known) { return operations[i] == Json(known); }))
      errors.push_back(api::not_supported(path.child("operations").index(i), operations[i], kOperations));
  check_wildcard(errors, rule.items_at("apiGroups"), path.child("apiGroups"), "API groups");
  const JsonArray& versions = rule.items_at("apiVersions");
  check_wildcard(errors, versions, path.child("apiVersions"), "API versions");
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (versions[i] == Json("")) errors.push_back(api::required(path.child("apiVersions").index(i)));
  check_resources(errors, rule.items_at("resources"), path.child("resources"));
  const std::string_view scope = rule.string_at("scope");
  if (!scope.empty() && scope != "*" && scope != "Cluster" && scope != "Namespaced")
    errors.push_back(api::not_supported(path.child("scope"), scope, {"*", "Cluster", "Namespaced"}));
}

void check_choice(FieldErrors& errors, const Json& webhook, std::string_view member,
                  std::initializer_list<std::string_view> choices, const FieldPath& path) {
  const Json* value = webhook.find(member);
  if (!value || value->is_null()) return;
  if (std::none_of(choices.begin(), choices.end(),
                   [&](std::string_view choice) { return *value == Json(choice); }))
    errors.push_back(api::not_supported(path.child(member), *value, choices));
}

void check_conditions(FieldErrors& errors, const JsonArray& conditions, const cel::Environment& environment,
                      const FieldPath& path) {
  if (conditions.size() > kMatchConditionsMax)
    errors.push_back(api::too_many(path, conditions.size(), kMatchConditionsMax));
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < conditions.size() && !errors.full(); ++i) {
    const FieldPath here = path.index(i);
    const std::string_view expression = conditions[i].string_at("expression"),
                           name = conditions[i].string_at("name");
    if (trimmed(expression).empty())
      errors.push_back(api::required(here.child("expression")));
    else if (const std::string problem = condition_problem(environment, expression); !problem.empty())
      errors.push_back(api::invalid(here.child("expression"), expression, problem));
    if (name.empty()) {
      errors.push_back(api::required(here.child("name")));
      continue;
    }
    for (const std::string& problem : api::qualified_name_problems(name))
      errors.push_back(api::invalid(here.child("name"), name, problem));
    if (!names.insert(name).second) errors.push_back(api::duplicate(here.child("name"), name));
  }
}

FieldErrors selector_problems(const Json& webhook, const FieldPath& path) {
  FieldErrors errors;
  for (const std::string_view member : {"namespaceSelector", "objectSelector"})
    if (const Json* selector = webhook.find(member); selector && selector->is_object())
      api::append(errors, api::check_label_selector(path.child(member), *selector));
  return errors;
}

}  // namespace berth::admission
