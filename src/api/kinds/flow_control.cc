// Rules of flowcontrol.apiserver.k8s.io: FlowSchema and PriorityLevelConfiguration.
//
// Source: pkg/apis/flowcontrol/v1/defaults.go and pkg/apis/flowcontrol/validation of Kubernetes 1.37, without
// the fixed values of the objects `exempt` and `catch-all`.
#include <algorithm>
#include <cmath>

#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"

namespace berth::api {
namespace {

constexpr std::int64_t kPrecedenceDefault = 1000, kPrecedenceMax = 10'000;
constexpr std::int64_t kSharesDefault = 30, kHandSizeDefault = 8, kQueuesDefault = 64,
                       kQueueLengthDefault = 50;
constexpr std::int64_t kQueuesMax = 10'000'000;
// Of the hash that deals a hand of queues to a flow.
constexpr double kHashBits = 60;
constexpr std::string_view kExempt = "exempt";

const TypeInfo& flow_type(std::string_view name) {
  return table_type("flowcontrol.apiserver.k8s.io", "v1", name);
}

// Go's zero is the absent value of these numbers.
void put_unless_zero(Json& object, std::string_view type, std::string_view key, std::int64_t value) {
  if (std::as_const(object).int_at(key) == 0) put(object, flow_type(type), key, value);
}

void set_flow_schema_defaults(Json& schema) {
  put_default(schema, flow_type("FlowSchema"), "spec", Json::object());
  put_unless_zero(*present(schema, "spec"), "FlowSchemaSpec", "matchingPrecedence", kPrecedenceDefault);
}

void set_priority_level_defaults(Json& level) {
  if (Json* exempt = present_at(level, {"spec", "exempt"})) {
    static const TypeInfo& type = flow_type("ExemptPriorityLevelConfiguration");
    put_default(*exempt, type, "nominalConcurrencyShares", 0);
    put_default(*exempt, type, "lendablePercent", 0);
  }
  if (Json* limited = present_at(level, {"spec", "limited"})) {
    static const TypeInfo& type = flow_type("LimitedPriorityLevelConfiguration");
    put_default(*limited, type, "nominalConcurrencyShares", kSharesDefault);
    put_default(*limited, type, "lendablePercent", 0);
  }
  if (Json* queuing = present_at(level, {"spec", "limited", "limitResponse", "queuing"})) {
    put_unless_zero(*queuing, "QueuingConfiguration", "handSize", kHandSizeDefault);
    put_unless_zero(*queuing, "QueuingConfiguration", "queues", kQueuesDefault);
    put_unless_zero(*queuing, "QueuingConfiguration", "queueLengthLimit", kQueueLengthDefault);
  }
}

bool has_wildcard(const JsonArray& list) {
  return std::find(list.begin(), list.end(), Json("*")) != list.end();
}

// A list in which "*" stands alone.
FieldErrors check_wildcard(const std::string& path, const JsonArray& list, std::string_view what) {
  if (list.size() < 2 || !has_wildcard(list)) return {};
  return {invalid(path, list, "if '*' is present, must not specify other " + std::string(what))};
}

FieldErrors check_flow_verbs(const FieldPath& path, const JsonArray& verbs) {
  static constexpr std::string_view kVerbs[] = {"create", "delete", "deletecollection", "get",  "list",
                                                "patch",  "proxy",  "update",           "watch"};
  if (verbs.empty()) return {required(path, "verbs must contain at least one value")};
  if (has_wildcard(verbs)) return check_wildcard(path, verbs, "verbs");
  for (const Json& verb : verbs)
    if (std::find(std::begin(kVerbs), std::end(kVerbs), verb.as_string()) == std::end(kVerbs))
      return {not_supported(path, verbs, std::span(kVerbs))};
  return {};
}

FieldErrors check_namespaces(const FieldPath& path, const Json& rule) {
  const JsonArray& namespaces = items(&rule, "namespaces");
  if (namespaces.empty() && !rule.bool_at("clusterScope", false))
    return {required(path, "resource rules that are not cluster scoped must supply at least one namespace")};
  if (has_wildcard(namespaces)) return check_wildcard(path, namespaces, "namespaces");
  FieldErrors errors;
  for (std::size_t i = 0; i < namespaces.size(); ++i)
    for (const std::string& problem : dns_label_problems(namespaces[i].as_string()))
      errors.push_back(invalid(path.index(i), namespaces[i],
                               "each member of this list must be '*' or a DNS-1123 label; " + problem));
  return errors;
}

FieldErrors check_resource_rule(const FieldPath& path, const Json& rule) {
  FieldErrors errors = check_flow_verbs(path.child("verbs"), items(&rule, "verbs"));
  struct List {
    const char *name, *needed, *what;
  };
  constexpr List kLists[] = {{"apiGroups", "resource rules must supply at least one api group", "api groups"},
                             {"resources", "resource rules must supply at least one resource", "resources"}};
  for (const List& list : kLists) {
    const JsonArray& all = items(&rule, list.name);
    if (all.empty())
      errors.push_back(required(path.child(list.name), list.needed));
    else
      append(errors, check_wildcard(path.child(list.name), all, list.what));
  }
  append(errors, check_namespaces(path.child("namespaces"), rule));
  return errors;
}

std::string_view path_problem(std::string_view path) {
  if (path.empty()) return "must not be empty";
  if (path == "/") return "";
  if (path.front() != '/') return "must start with slash";
  if (path.find(' ') != std::string_view::npos) return "must not contain white-space";
  if (path.find("//") != std::string_view::npos) return "must not contain double slash";
  const std::size_t star = path.find('*');
  const bool is_suffix = star == path.size() - 1 && path.ends_with("/*");
  return star == std::string_view::npos || is_suffix ? "" : "wildcard can only do suffix matching";
}

FieldErrors check_path_rule(const FieldPath& path, const Json& rule) {
  FieldErrors errors = check_flow_verbs(path.child("verbs"), items(&rule, "verbs"));
  const FieldPath at = path.child("nonResourceURLs");
  const JsonArray& urls = items(&rule, "nonResourceURLs");
  if (urls.empty()) errors.push_back(required(at, "nonResourceURLs must contain at least one value"));
  append(errors, check_wildcard(at, urls, "non-resource URLs"));
  if (has_wildcard(urls)) return errors;
  for (std::size_t i = 0; i < urls.size(); ++i)
    if (const std::string_view problem = path_problem(urls[i].as_string()); !problem.empty())
      errors.push_back(invalid(at.index(i), urls[i], problem));
  return errors;
}

FieldErrors check_account(const FieldPath& path, const Json& account) {
  FieldErrors errors;
  const std::string_view name = account.string_at("name"), ns = account.string_at("namespace");
  if (name.empty())
    errors.push_back(required(path.child("name")));
  else if (name != "*")
    append(errors, check_format(path.child("name"), name, dns_subdomain_problems));
  if (ns.empty())
    errors.push_back(required(path.child("namespace"), "must specify namespace for service account"));
  else
    append(errors, check_format(path.child("namespace"), ns, dns_label_problems));
  return errors;
}

// A subject has the member of its kind, and no other.
FieldErrors check_flow_subject(const FieldPath& path, const Json& subject) {
  struct SubjectKind {
    std::string_view kind, member;
  };
  // In the order in which the reference looks at those that are not meant.
  static constexpr SubjectKind kKinds[] = {
      {"ServiceAccount", "serviceAccount"}, {"User", "user"}, {"Group", "group"}};
  const std::string_view kind = subject.string_at("kind");
  const auto own = std::find_if(std::begin(kKinds), std::end(kKinds),
                                [&](const SubjectKind& one) { return one.kind == kind; });
  if (own == std::end(kKinds))
    return {not_supported(path.child("kind"), kind, {"Group", "ServiceAccount", "User"})};
  FieldErrors errors;
  const FieldPath at = path.child(own->member);
  const Json* const given = present(subject, own->member);
  if (!given)
    errors.push_back(required(
        at, std::string(own->member) + " is required when subject kind is '" + std::string(kind) + "'"));
  else if (kind == "ServiceAccount")
    append(errors, check_account(at, *given));
  else if (given->string_at("name").empty())
    errors.push_back(required(at.child("name")));
  for (const SubjectKind& other : kKinds)
    if (other.kind != kind && present(subject, other.member))
      errors.push_back(forbidden(path.child(other.member), std::string(other.member) +
                                                               " is forbidden when subject kind is not '" +
                                                               std::string(other.kind) + "'"));
  return errors;
}

FieldErrors check_flow_rules(const FieldPath& path, const Json& rules) {
  FieldErrors errors;
  const JsonArray &subjects = items(&rules, "subjects"), &of_resources = items(&rules, "resourceRules"),
                  &of_paths = items(&rules, "nonResourceRules");
  if (subjects.empty())
    errors.push_back(required(path.child("subjects"), "subjects must contain at least one value"));
  for (std::size_t i = 0; i < subjects.size(); ++i)
    append(errors, check_flow_subject(path.child("subjects").index(i), subjects[i]));
  if (of_resources.empty() && of_paths.empty())
    errors.push_back(
        required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"));
  for (std::size_t i = 0; i < of_resources.size(); ++i)
    append(errors, check_resource_rule(path.child("resourceRules").index(i), of_resources[i]));
  for (std::size_t i = 0; i < of_paths.size(); ++i)
    append(errors, check_path_rule(path.child("nonResourceRules").index(i), of_paths[i]));
  return errors;
}

FieldErrors validate_flow_schema(const Json& schema, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = schema.part("spec");
  const std::int64_t precedence = spec.int_at("matchingPrecedence");
  FieldErrors errors;
  if (precedence <= 0)
    errors.push_back(invalid(path.child("matchingPrecedence"), precedence, "must be a positive value"));
  if (precedence > kPrecedenceMax)
    errors.push_back(invalid(path.child("matchingPrecedence"), precedence,
                             "must not be greater than " + std::to_string(kPrecedenceMax)));
  if (precedence == 1 && schema.part("metadata").string_at("name") != kExempt)
    errors.push_back(invalid(path.child("matchingPrecedence"), precedence,
                             "only the schema named 'exempt' may have matchingPrecedence 1"));
  if (const Json* method = present(spec, "distinguisherMethod"))
    if (const std::string_view type = method->string_at("type"); type != "ByNamespace" && type != "ByUser")
      errors.push_back(not_supported(path.child("distinguisherMethod").child("type"),
                                     go_form(*method, flow_type("FlowDistinguisherMethod")),
                                     {"ByNamespace", "ByUser"}));
  const FieldPath level_path = path.child("priorityLevelConfiguration").child("name");
  const std::string_view level = spec.part("priorityLevelConfiguration").string_at("name");
  if (level.empty())
    errors.push_back(required(level_path, "must reference a priority level"));
  else
    append(errors, check_format(level_path, level, dns_subdomain_problems));
  const JsonArray& rules = items(&spec, "rules");
  for (std::size_t i = 0; i < rules.size(); ++i)
    append(errors, check_flow_rules(path.child("rules").index(i), rules[i]));
  return errors;
}

// Of both types.
FieldErrors check_shares(const FieldPath& path, const Json& configuration) {
  FieldErrors errors;
  if (const std::int64_t shares = configuration.int_at("nominalConcurrencyShares"); shares < 0)
    errors.push_back(
        invalid(path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer"));
  return errors;
}

FieldErrors check_lendable(const FieldPath& path, const Json& configuration) {
  const std::int64_t percent = configuration.int_at("lendablePercent");
  if (percent >= 0 && percent <= 100) return {};
  return {invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive")};
}

FieldErrors check_queuing(const FieldPath& path, const Json& queuing) {
  const std::int64_t queues = queuing.int_at("queues"), hand = queuing.int_at("handSize"),
                     length = queuing.int_at("queueLengthLimit");
  FieldErrors errors;
  if (length <= 0) errors.push_back(invalid(path.child("queueLengthLimit"), length, "must be positive"));
  if (queues <= 0)
    errors.push_back(invalid(path.child("queues"), queues, "must be positive"));
  else if (queues > kQueuesMax)
    errors.push_back(
        invalid(path.child("queues"), queues, "must not be greater than " + std::to_string(kQueuesMax)));
  if (hand <= 0)
    errors.push_back(invalid(path.child("handSize"), hand, "must be positive"));
  else if (hand > queues)
    errors.push_back(invalid(path.child("handSize"), hand,
                             "should not be greater than queues (" + std::to_string(queues) + ")"));
  else if (std::ceil(std::log2(static_cast<double>(queues)) * static_cast<double>(hand)) > kHashBits)
    errors.push_back(invalid(path.child("handSize"), hand,
                             "required entropy bits of deckSize " + std::to_string(queues) +
                                 " and handSize " + std::to_string(hand) + " should not be greater than 60"));
  return errors;
}

FieldErrors check_limit_response(const FieldPath& path, const Json& response) {
  const std::string_view type = response.string_at("type");
  const Json* const queuing = present(response, "queuing");
  const FieldPath at = path.child("queuing");
  if (type.empty()) return {required(path.child("type"))};
  if (type == "Reject") {
    if (!queuing) return {};
    return {forbidden(at, "must be nil if limited.limitResponse.type is not Limited")};
  }
  if (type != "Queue") return {not_supported(path.child("type"), type, {"Queue", "Reject"})};
  if (!queuing) return {required(at, "must not be empty if limited.limitResponse.type is Limited")};
  return check_queuing(at, *queuing);
}

FieldErrors check_limited(const FieldPath& path, const Json& limited) {
  FieldErrors errors = check_shares(path, limited);
  append(errors, check_limit_response(path.child("limitResponse"), limited.part("limitResponse")));
  append(errors, check_lendable(path, limited));
  if (const std::int64_t percent = limited.int_at("borrowingLimitPercent"); percent < 0)
    errors.push_back(invalid(path.child("borrowingLimitPercent"), percent,
                             "if specified, must be a non-negative integer"));
  return errors;
}

FieldErrors validate_priority_level(const Json& level, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = level.part("spec");
  const Json *const exempt = present(&spec, "exempt"), *const limited = present(&spec, "limited");
  const std::string_view type = spec.string_at("type");
  FieldErrors errors;
  if ((level.part("metadata").string_at("name") == kExempt) != (type == "Exempt"))
    errors.push_back(invalid(path.child("type"), type, "must be 'Exempt' if and only if `name` is 'exempt'"));
  if (type.empty()) {
    errors.push_back(required(path.child("type")));
  } else if (type == "Exempt") {
    if (limited) errors.push_back(forbidden(path.child("limited"), "must be nil if the type is not Limited"));
    if (exempt) append(errors, check_shares(path.child("exempt"), *exempt));
    if (exempt) append(errors, check_lendable(path.child("exempt"), *exempt));
  } else if (type == "Limited") {
    if (exempt) errors.push_back(forbidden(path.child("exempt"), "must be nil if the type is Limited"));
    if (limited)
      append(errors, check_limited(path.child("limited"), *limited));
    else
      errors.push_back(required(path.child("limited"), "must not be empty when type is Limited"));
  } else {
    errors.push_back(not_supported(path.child("type"), type, {"Exempt", "Limited"}));
  }
  return errors;
}

}  // namespace

void adjust_flow_schemas(KindRules& rules) {
  rules.set_defaults = set_flow_schema_defaults;
  rules.validate_create = validate_flow_schema;
}

void adjust_priority_levels(KindRules& rules) {
  rules.set_defaults = set_priority_level_defaults;
  rules.validate_create = validate_priority_level;
}

}  // namespace berth::api
