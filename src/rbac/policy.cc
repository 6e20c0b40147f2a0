#include "rbac/policy.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace berth::rbac {
namespace {

constexpr std::string_view kRole = "Role";
constexpr std::string_view kClusterRole = "ClusterRole";

std::string in_quotes(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string missing_role(const RoleRef& role) {
  if (role.kind != kRole && role.kind != kClusterRole)
    return "unsupported role reference kind: " + in_quotes(role.kind);
  const std::string kind = role.kind == kRole ? "role." : "clusterrole.";
  return kind + std::string(kGroup) + " " + in_quotes(role.name) + " not found";
}

// Go's aggregate of errors.
std::string all_of(const std::vector<std::string>& errors) {
  if (errors.empty()) return "";
  if (errors.size() == 1) return errors.front();
  std::string text = "[";
  for (const std::string& error : errors) text += (text.size() > 1 ? ", " : "") + error;
  return text + "]";
}

std::string subject_text(const Subject& subject, const Binding& binding) {
  switch (subject.kind) {
    case Subject::Kind::User:
      return "User " + in_quotes(subject.name);
    case Subject::Kind::Group:
      return "Group " + in_quotes(subject.name);
    default:
      break;
  }
  const std::string& ns = subject.ns.empty() ? binding.ns : subject.ns;
  return "ServiceAccount " + in_quotes(subject.name + "/" + ns);
}

std::string allowed_by(const Binding& binding, const User& user) {
  std::string text = "RBAC: allowed by ";
  text += binding.ns.empty() ? "ClusterRoleBinding " + in_quotes(binding.name)
                             : "RoleBinding " + in_quotes(binding.name + "/" + binding.ns);
  text += " of " + binding.role.kind + " " + in_quotes(binding.role.name);
  if (const Subject* subject = binding.subject_of(user)) text += " to " + subject_text(*subject, binding);
  return text;
}

void merge_positions(std::vector<std::uint32_t>& all, const std::vector<std::uint32_t>& more,
                     std::size_t from) {
  const auto old_size = static_cast<std::ptrdiff_t>(all.size());
  all.insert(all.end(), more.begin(), more.end());
  std::inplace_merge(all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + old_size, all.end());
}

struct ByName {
  bool operator()(const Role* a, const Role* b) const { return a->name < b->name; }
};
using RolesByName = std::set<const Role*, ByName>;

bool collects(const Role& role, const Role& other) {
  const Json* labels = other.labels.is_object() ? &other.labels : nullptr;
  return std::any_of(role.collects->begin(), role.collects->end(),
                     [labels](const api::LabelSelector& selector) { return selector.matches(labels); });
}

// What `role` collects, over all roles in between that collect as well. Circles end: a role is taken once.
RolesByName collected_by(const Role& role, const std::vector<RolePtr>& cluster_roles) {
  RolesByName collected;
  std::vector<const Role*> open = {&role};
  while (!open.empty()) {
    const Role& collector = *open.back();
    open.pop_back();
    for (const RolePtr& other : cluster_roles)
      if (collects(collector, *other) && collected.insert(other.get()).second && other->collects)
        open.push_back(other.get());
  }
  return collected;
}

}  // namespace

std::vector<PolicyRule> aggregated_rules(const Role& role, const std::vector<RolePtr>& cluster_roles) {
  if (!role.collects) return role.own.rules;
  std::vector<PolicyRule> rules;
  std::set<std::string> seen;
  for (const Role* other : collected_by(role, cluster_roles)) {
    if (other->collects) continue;
    for (const PolicyRule& rule : other->own.rules)
      if (seen.insert(rule.text()).second) rules.push_back(rule);
  }
  return rules;
}

Policy::Policy(std::vector<RolePtr> roles, std::vector<BindingPtr> bindings) {
  std::vector<RolePtr> cluster_roles;
  std::copy_if(roles.begin(), roles.end(), std::back_inserter(cluster_roles),
               [](const RolePtr& role) { return role->ns.empty(); });
  for (const RolePtr& role : roles)
    roles_.emplace(std::pair(role->ns, role->name),
                   role->collects ? std::make_shared<const RuleList>(aggregated_rules(*role, cluster_roles))
                                  : RuleListPtr(role, &role->own));
  std::sort(bindings.begin(), bindings.end(), [](const BindingPtr& a, const BindingPtr& b) {
    return std::tie(a->ns, a->name) < std::tie(b->ns, b->name);
  });
  for (BindingPtr& binding : bindings) add_binding(std::move(binding));
}

void Policy::add_binding(BindingPtr binding) {
  Scope& scope = binding->ns.empty() ? cluster_ : namespaces_[binding->ns];
  const auto position = static_cast<Position>(bound_.size());
  const auto add = [position](Positions& positions) {
    if (positions.empty() || positions.back() != position) positions.push_back(position);
  };
  for (const Subject& subject : binding->subjects) {
    if (subject.kind == Subject::Kind::Group)
      add(scope.by_group[subject.name]);
    else if (std::string name = binding->user_name_of(subject); !name.empty())
      add(scope.by_user[std::move(name)]);
  }
  RuleListPtr rules = find_role(binding->role, binding->ns);
  const RuleSignature all = rules ? rules->all : RuleSignature();
  bound_.push_back({std::move(binding), std::move(rules), all});
}

Policy::RuleListPtr Policy::find_role(const RoleRef& role, std::string_view ns) const {
  const bool is_cluster = role.kind == kClusterRole;
  if (!is_cluster && (role.kind != kRole || ns.empty())) return nullptr;
  const auto found = roles_.find(std::pair(std::string(is_cluster ? std::string_view() : ns), role.name));
  return found == roles_.end() ? nullptr : found->second;
}

Policy::Positions Policy::bindings_of(const User& user, std::string_view ns) const {
  Positions all;
  const auto add_scope = [&](const Scope& scope) {
    const std::size_t from = all.size();
    if (const auto found = scope.by_user.find(user.name); found != scope.by_user.end())
      merge_positions(all, found->second, from);
    for (const std::string& group : user.groups)
      if (const auto found = scope.by_group.find(group); found != scope.by_group.end())
        merge_positions(all, found->second, from);
  };
  add_scope(cluster_);
  if (const auto found = namespaces_.find(ns); !ns.empty() && found != namespaces_.end())
    add_scope(found->second);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

const Policy::Bound* Policy::allowing(const Attributes& asked, const Positions& positions) const {
  const RuleSignature signature(asked);
  for (const Position position : positions) {
    const Bound& bound = bound_[position];
    if (!bound.all.may_allow(signature)) continue;
    for (std::size_t i = 0; i < bound.rules->rules.size(); ++i)
      if (bound.rules->signatures[i].may_allow(signature) && bound.rules->rules[i].allows(asked))
        return &bound;
  }
  return nullptr;
}

bool Policy::allows(const User& user, const Attributes& asked) const {
  return allowing(asked, bindings_of(user, asked.ns)) != nullptr;
}

Decision Policy::decide(const User& user, const Attributes& asked) const {
  const Bound* bound = allowing(asked, bindings_of(user, asked.ns));
  if (bound) return {true, allowed_by(*bound->binding, user)};
  const std::string error = rules_for(user, asked.ns).error;
  return {false, error.empty() ? "" : "RBAC: " + error};
}

UserRules Policy::rules_for(const User& user, std::string_view ns) const {
  UserRules found;
  std::vector<std::string> errors;
  for (const Position position : bindings_of(user, ns)) {
    const Bound& bound = bound_[position];
    if (bound.rules) {
      for (const PolicyRule& rule : bound.rules->rules) found.rules.push_back(&rule);
      continue;
    }
    std::string error = missing_role(bound.binding->role);
    if (std::find(errors.begin(), errors.end(), error) == errors.end()) errors.push_back(std::move(error));
  }
  found.error = all_of(errors);
  return found;
}

Result<std::vector<const PolicyRule*>> Policy::rules_of(const RoleRef& role, std::string_view ns) const {
  const RuleListPtr list = find_role(role, ns);
  if (!list) return Error(ErrorCode::NotFound, missing_role(role));
  std::vector<const PolicyRule*> rules;
  for (const PolicyRule& rule : list->rules) rules.push_back(&rule);
  return rules;
}

}  // namespace berth::rbac
