#include "rbac/escalation.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/json.h"

namespace berth::rbac {
namespace {

// One verb on one resource (with or without a name), or on one path. Texts belong to the granted rules.
struct Right {
  std::string_view verb, group, resource, path;
  const std::string* name = nullptr;  // null: every name

  auto what() const {
    return std::tuple(group, resource, path, name != nullptr, name ? *name : std::string());
  }
};

std::size_t rights_in(const PolicyRule& rule) {
  const std::size_t names = std::max<std::size_t>(1, rule.names.size());
  // Texts of one document: no product of these counts leaves 64 bits.
  const double of_resources = static_cast<double>(rule.groups.size()) *
                              static_cast<double>(rule.resources.size()) * static_cast<double>(names);
  const double all =
      static_cast<double>(rule.verbs.size()) * (of_resources + static_cast<double>(rule.paths.size()));
  return static_cast<std::size_t>(std::min(all, double{kGrantedRightsMax} + 1));
}

void append_rights(std::vector<Right>& rights, const PolicyRule& rule) {
  const auto add = [&](Right right) {
    for (const std::string& verb : rule.verbs) {
      right.verb = verb;
      rights.push_back(right);
    }
  };
  for (const std::string& path : rule.paths) add({"", "", "", path});
  for (const std::string& group : rule.groups)
    for (const std::string& resource : rule.resources) {
      if (rule.names.empty()) add({"", group, resource, ""});
      for (const std::string& name : rule.names) add({"", group, resource, "", &name});
    }
}

bool holds_resource(const std::vector<std::string>& held, std::string_view resource) {
  if (lists(held, "*") || lists(held, resource)) return true;
  const std::size_t slash = resource.find('/');
  return slash != std::string_view::npos && lists(held, "*" + std::string(resource.substr(slash)));
}

// As Kubernetes compares: "*" in the granted rule is a text like others, which only "*" covers.
bool holds(const PolicyRule& held, const Right& right) {
  if (!lists(held.verbs, "*") && !lists(held.verbs, right.verb)) return false;
  if (!right.path.empty())
    return std::any_of(held.paths.begin(), held.paths.end(),
                       [&](const std::string& path) { return path_covers(path, right.path); });
  if (!lists(held.groups, "*") && !lists(held.groups, right.group)) return false;
  if (!holds_resource(held.resources, right.resource)) return false;
  return held.names.empty() || (right.name && lists(held.names, *right.name));
}

bool holds_every_resource(const PolicyRule& rule) {
  return lists(rule.verbs, "*") && lists(rule.groups, "*") && lists(rule.resources, "*") &&
         rule.names.empty();
}

}  // namespace

Result<std::vector<PolicyRule>> missing_rights(std::span<const PolicyRule* const> held,
                                               std::span<const PolicyRule* const> granted) {
  const bool holds_resources = std::any_of(
      held.begin(), held.end(), [](const PolicyRule* rule) { return holds_every_resource(*rule); });
  std::vector<Right> rights;
  std::size_t count = 0;
  for (const PolicyRule* rule : granted) {
    if (holds_resources && rule->paths.empty()) continue;
    count += rights_in(*rule);
    if (count > kGrantedRightsMax)
      return Error(ErrorCode::TooLarge,
                   "the role grants more than " + std::to_string(kGrantedRightsMax) +
                       " single rights, which are not compared with those held: split it");
    append_rights(rights, *rule);
  }
  std::map<decltype(Right().what()), PolicyRule> missing;
  for (const Right& right : rights) {
    if (std::any_of(held.begin(), held.end(), [&](const PolicyRule* rule) { return holds(*rule, right); }))
      continue;
    PolicyRule& rule = missing[right.what()];
    rule.verbs.emplace_back(right.verb);
    if (rule.verbs.size() > 1) continue;
    if (!right.path.empty()) {
      rule.paths.emplace_back(right.path);
      continue;
    }
    rule.groups.emplace_back(right.group);
    rule.resources.emplace_back(right.resource);
    if (right.name) rule.names.push_back(*right.name);
  }
  std::vector<PolicyRule> rules;
  for (auto& [what, rule] : missing) rules.push_back(std::move(rule));
  std::sort(rules.begin(), rules.end(),
            [](const PolicyRule& a, const PolicyRule& b) { return a.text() < b.text(); });
  return rules;
}

std::string escalation_text(const User& user, std::span<const PolicyRule> missing,
                            const std::string& resolution_error) {
  std::string text = "user ";
  append_json_string(text, user.name);
  text += " (groups=[";
  for (const std::string& group : user.groups) {
    if (&group != &user.groups.front()) text += ' ';
    append_json_string(text, group);
  }
  text += "]) is attempting to grant RBAC permissions not currently held:";
  for (const PolicyRule& rule : missing) text += "\n" + rule.text();
  return resolution_error.empty() ? text : text + "; resolution errors: [" + resolution_error + "]";
}

}  // namespace berth::rbac
