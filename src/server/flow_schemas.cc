#include "server/flow_schemas.h"

#include <algorithm>
#include <tuple>

namespace berth::server {
namespace {

constexpr std::string_view kEverything = "*";
// Of a level that queues and does not say how. Source: the defaults of flowcontrol/v1.
constexpr std::int64_t kQueuesDefault = 64, kHandSizeDefault = 8, kQueueLengthDefault = 50;
constexpr std::int64_t kSharesDefault = 30;

std::vector<std::string> strings_in(const Json& object, std::string_view member) {
  std::vector<std::string> texts;
  for (const Json& item : object.items_at(member))
    if (item.is_string()) texts.push_back(item.as_string());
  return texts;
}

// The wildcard stands alone.
bool has_text(const std::vector<std::string>& list, std::string_view text) {
  if (list.size() == 1 && list.front() == kEverything) return true;
  return std::find(list.begin(), list.end(), text) != list.end();
}

// "/healthz" is every path below it too.
bool is_path_below(std::string_view asked, std::string_view rule) {
  if (rule == kEverything || rule == asked) return true;
  std::string prefix(rule.ends_with('*') ? rule.substr(0, rule.size() - 1) : rule);
  if (!prefix.ends_with('/')) prefix += '/';
  return asked.starts_with(prefix);
}

PriorityLevel read_level(const Json& object) {
  const Json &metadata = object.part("metadata"), &spec = object.part("spec");
  PriorityLevel level;
  level.name = metadata.string_at("name");
  level.uid = metadata.string_at("uid");
  level.is_exempt = spec.string_at("type") == "Exempt";
  if (level.is_exempt) return level;
  const Json& limited = spec.part("limited");
  level.shares = std::max<std::int64_t>(0, limited.int_at("nominalConcurrencyShares", kSharesDefault));
  const Json& response = limited.part("limitResponse");
  if (response.string_at("type") != "Queue") return level;
  const Json& queuing = response.part("queuing");
  const std::int64_t queues = queuing.int_at("queues", kQueuesDefault),
                     hand = queuing.int_at("handSize", kHandSizeDefault),
                     length = queuing.int_at("queueLengthLimit", kQueueLengthDefault);
  // There a flow is dealt a hand of the level's queues.
  level.flow_waiting_max =
      static_cast<std::size_t>(std::max<std::int64_t>(0, std::min(hand, queues) * length));
  level.waiting_max = static_cast<std::size_t>(std::max<std::int64_t>(0, queues * length));
  return level;
}

}  // namespace

bool FlowSchemas::Rule::matches(const FlowAttributes& asked) const {
  if (!has_text(verbs, asked.verb)) return false;
  if (asked.resource.empty())
    return std::any_of(paths.begin(), paths.end(),
                       [&](const std::string& path) { return is_path_below(asked.path, path); });
  if (!has_text(resources, asked.resource) || !has_text(groups, asked.group)) return false;
  return asked.ns.empty() ? is_of_cluster : has_text(namespaces, asked.ns);
}

bool FlowSchemas::Subject::matches(const rbac::User& user) const {
  switch (kind) {
    case Kind::User:
      return name == kEverything || name == user.name;
    case Kind::Group:
      return name == kEverything || user.is_in(name);
    case Kind::ServiceAccountPrefix:
      return user.name.starts_with(name);
  }
  return false;
}

bool FlowSchemas::RuleSet::matches(const FlowAttributes& asked) const {
  const std::vector<Rule>& rules = asked.resource.empty() ? of_paths : of_resources;
  return std::any_of(subjects.begin(), subjects.end(),
                     [&](const Subject& subject) { return subject.matches(asked.user); }) &&
         std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.matches(asked); });
}

FlowSchemas::RuleSet FlowSchemas::read_rules(const Json& rules) {
  RuleSet set;
  for (const Json& subject : rules.items_at("subjects")) {
    const std::string_view kind = subject.string_at("kind");
    if (kind == "User")
      set.subjects.push_back({Subject::Kind::User, std::string(subject.part("user").string_at("name"))});
    else if (kind == "Group")
      set.subjects.push_back({Subject::Kind::Group, std::string(subject.part("group").string_at("name"))});
    const Json& account = subject.part("serviceAccount");
    if (kind != "ServiceAccount" || !account.is_object()) continue;
    const std::string_view name = account.string_at("name");
    std::string user = rbac::service_account_user(account.string_at("namespace"),
                                                  name == kEverything ? std::string_view() : name);
    set.subjects.push_back(
        {name == kEverything ? Subject::Kind::ServiceAccountPrefix : Subject::Kind::User, std::move(user)});
  }
  for (const Json& rule : rules.items_at("resourceRules"))
    set.of_resources.push_back({strings_in(rule, "verbs"),
                                strings_in(rule, "apiGroups"),
                                strings_in(rule, "resources"),
                                strings_in(rule, "namespaces"),
                                {},
                                rule.bool_at("clusterScope", false)});
  for (const Json& rule : rules.items_at("nonResourceRules"))
    set.of_paths.push_back(
        {strings_in(rule, "verbs"), {}, {}, {}, strings_in(rule, "nonResourceURLs"), false});
  return set;
}

FlowSchemas::FlowSchemas(const std::vector<Json>& schemas, const std::vector<Json>& levels) {
  for (const Json& level : levels) levels_.push_back(read_level(level));
  for (const Json& object : schemas) {
    const Json &metadata = object.part("metadata"), &spec = object.part("spec");
    const auto level = std::find_if(levels_.begin(), levels_.end(), [&](const PriorityLevel& one) {
      return one.name == spec.part("priorityLevelConfiguration").string_at("name");
    });
    if (level == levels_.end()) continue;
    Schema schema;
    schema.name = metadata.string_at("name");
    schema.uid = metadata.string_at("uid");
    schema.precedence = spec.int_at("matchingPrecedence");
    schema.level = static_cast<std::size_t>(level - levels_.begin());
    const std::string_view method = spec.part("distinguisherMethod").string_at("type");
    if (method == "ByUser") schema.distinguisher = Distinguisher::User;
    if (method == "ByNamespace") schema.distinguisher = Distinguisher::Namespace;
    for (const Json& rules : spec.items_at("rules")) schema.rules.push_back(read_rules(rules));
    schemas_.push_back(std::move(schema));
  }
  std::sort(schemas_.begin(), schemas_.end(), [](const Schema& a, const Schema& b) {
    return std::tie(a.precedence, a.name) < std::tie(b.precedence, b.name);
  });
}

std::string FlowSchemas::flow_of(const Schema& schema, const FlowAttributes& asked) {
  std::string flow = schema.name + "/";
  if (schema.distinguisher == Distinguisher::User) flow += asked.user.name;
  if (schema.distinguisher == Distinguisher::Namespace) flow += asked.ns;
  return flow;
}

std::optional<FlowSchemas::Match> FlowSchemas::match(const FlowAttributes& asked) const {
  for (const Schema& schema : schemas_) {
    const bool matches = std::any_of(schema.rules.begin(), schema.rules.end(),
                                     [&](const RuleSet& rules) { return rules.matches(asked); });
    if (!matches) continue;
    const PriorityLevel& level = levels_[schema.level];
    return Match{&level, schema.name, schema.uid, level.is_exempt ? std::string() : flow_of(schema, asked)};
  }
  return std::nullopt;
}

}  // namespace berth::server
