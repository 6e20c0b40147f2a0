#include "admission/rules.h"

#include <algorithm>

namespace berth::admission {
namespace {

std::vector<std::string> texts_of(const JsonArray& items) {
  std::vector<std::string> texts;
  for (const Json& item : items)
    if (item.is_string()) texts.push_back(item.as_string());
  return texts;
}

bool names(const std::vector<std::string>& choices, std::string_view wanted) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](const std::string& choice) { return choice == "*" || choice == wanted; });
}

// A Namespace is an object of the cluster, although its requests have a namespace.
bool is_in_scope(Scope scope, const Attributes& attributes, const GroupVersionResource& resource) {
  if (scope == Scope::Any) return true;
  const bool is_namespace = resource.group.empty() && resource.resource == "namespaces";
  const bool is_cluster = is_namespace || attributes.ns.empty();
  return is_cluster == (scope == Scope::Cluster);
}

bool names_resource(std::string_view choice, std::string_view resource, std::string_view subresource) {
  const std::size_t slash = std::min(choice.find('/'), choice.size());
  const std::string_view own = choice.substr(0, slash),
                         below = choice.substr(std::min(slash + 1, choice.size()));
  return (own == "*" || own == resource) && (below == "*" || below == subresource);
}

}  // namespace

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::Create:
      return "CREATE";
    case Operation::Update:
      return "UPDATE";
    case Operation::Delete:
      return "DELETE";
  }
  return "";
}

Rule read_rule(const Json& rule) {
  Rule read;
  read.operations = texts_of(rule.items_at("operations"));
  read.groups = texts_of(rule.items_at("apiGroups"));
  read.versions = texts_of(rule.items_at("apiVersions"));
  read.resources = texts_of(rule.items_at("resources"));
  read.names = texts_of(rule.items_at("resourceNames"));
  const std::string_view scope = rule.string_at("scope");
  if (scope == "Namespaced") read.scope = Scope::Namespaced;
  if (scope == "Cluster") read.scope = Scope::Cluster;
  return read;
}

bool matches(const Rule& rule, const Attributes& attributes, const GroupVersionResource& resource) {
  const auto is_named = [&](const std::string& choice) {
    return names_resource(choice, resource.resource, attributes.subresource);
  };
  const bool has_name = rule.names.empty() ||
                        std::find(rule.names.begin(), rule.names.end(), attributes.name) != rule.names.end();
  return has_name && is_in_scope(rule.scope, attributes, resource) &&
         names(rule.operations, name_of(attributes.operation)) && names(rule.groups, resource.group) &&
         names(rule.versions, resource.version) &&
         std::any_of(rule.resources.begin(), rule.resources.end(), is_named);
}

}  // namespace berth::admission
