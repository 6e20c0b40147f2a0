#include "rbac/roles.h"

namespace berth::rbac {
namespace {

Subject::Kind subject_kind(std::string_view kind) {
  if (kind == "User") return Subject::Kind::User;
  if (kind == "Group") return Subject::Kind::Group;
  return kind == "ServiceAccount" ? Subject::Kind::ServiceAccount : Subject::Kind::Unknown;
}

}  // namespace

RuleList::RuleList(std::vector<PolicyRule> list) : rules(std::move(list)) {
  for (const PolicyRule& rule : rules) all.add(signatures.emplace_back(rule));
}

Role Role::read(const Json& object) {
  const Json& metadata = object.part("metadata");
  Role role{std::string(metadata.string_at("namespace")),
            std::string(metadata.string_at("name")),
            metadata.part("labels"),
            {},
            std::nullopt};
  std::vector<PolicyRule> rules;
  for (const Json& rule : object.items_at("rules")) rules.push_back(PolicyRule::read(rule));
  role.own = RuleList(std::move(rules));
  const Json& aggregation = object.part("aggregationRule");
  if (!aggregation.is_object()) return role;
  role.collects.emplace();
  for (const Json& selector : aggregation.items_at("clusterRoleSelectors"))
    if (Result<api::LabelSelector> parsed = api::LabelSelector::of(selector))
      role.collects->push_back(*std::move(parsed));
  return role;
}

RoleRef RoleRef::read(const Json& reference) {
  return {std::string(reference.string_at("kind")), std::string(reference.string_at("name"))};
}

Binding Binding::read(const Json& object) {
  const Json& metadata = object.part("metadata");
  Binding binding{std::string(metadata.string_at("namespace")),
                  std::string(metadata.string_at("name")),
                  RoleRef::read(object.part("roleRef")),
                  {}};
  for (const Json& subject : object.items_at("subjects"))
    binding.subjects.push_back({subject_kind(subject.string_at("kind")),
                                std::string(subject.string_at("name")),
                                std::string(subject.string_at("namespace"))});
  return binding;
}

std::string Binding::user_name_of(const Subject& subject) const {
  if (subject.kind == Subject::Kind::User) return subject.name;
  const std::string& account_ns = subject.ns.empty() ? ns : subject.ns;
  if (subject.kind != Subject::Kind::ServiceAccount || account_ns.empty()) return "";
  return service_account_user(account_ns, subject.name);
}

const Subject* Binding::subject_of(const User& user) const {
  for (const Subject& subject : subjects) {
    const bool is_group = subject.kind == Subject::Kind::Group;
    if (is_group ? user.is_in(subject.name) : !user.name.empty() && user_name_of(subject) == user.name)
      return &subject;
  }
  return nullptr;
}

}  // namespace berth::rbac
