#include "server/flow_schemas.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

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

}  // namespace

PriorityLevel PriorityLevel::read(const Json& object) {
  const Json &metadata = object.part("metadata"), &spec = object.part("spec");
  PriorityLevel level;
  level.name = metadata.string_at("name");
  level.uid = metadata.string_at("uid");
  level.is_exempt = spec.string_at("type") == "Exempt";
  if (level.is_exempt) return level;
  const Json& limited = spec.part("limited");
  level.shares = std::clamp<std::int64_t>(limited.int_at("nominalConcurrencyShares", kSharesDefault), 0,
                                          std::numeric_limits<std::int32_t>::max());
  level.lendable_percent = std::clamp<std::int64_t>(limited.int_at("lendablePercent"), 0, 100);
  if (const Json* percent = limited.find("borrowingLimitPercent"); percent && !percent->is_null())
    level.borrowing_percent = std::max<std::int64_t>(0, limited.int_at("borrowingLimitPercent"));
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

bool FlowSchema::Rule::matches(const FlowAttributes& asked) const {
  if (!has_text(verbs, asked.verb)) return false;
  if (asked.resource.empty())
    return std::any_of(paths.begin(), paths.end(),
                       [&](const std::string& path) { return is_path_below(asked.path, path); });
  if (!has_text(resources, asked.resource) || !has_text(groups, asked.group)) return false;
  return asked.ns.empty() ? is_of_cluster : has_text(namespaces, asked.ns);
}

bool FlowSchema::Subject::matches(const rbac::User& user) const {
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

bool FlowSchema::RuleSet::matches(const FlowAttributes& asked) const {
  const std::vector<Rule>& rules = asked.resource.empty() ? of_paths : of_resources;
  return std::any_of(subjects.begin(), subjects.end(),
                     [&](const Subject& subject) { return subject.matches(asked.user); }) &&
         std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.matches(asked); });
}

FlowSchema::RuleSet FlowSchema::read_rules(const Json& rules) {
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

FlowSchema FlowSchema::read(const Json& object) {
  const Json &metadata = object.part("metadata"), &spec = object.part("spec");
  FlowSchema schema;
  schema.name = metadata.string_at("name");
  schema.uid = metadata.string_at("uid");
  schema.level = spec.part("priorityLevelConfiguration").string_at("name");
  schema.precedence = spec.int_at("matchingPrecedence");
  const std::string_view method = spec.part("distinguisherMethod").string_at("type");
  if (method == "ByUser") schema.distinguisher_ = Distinguisher::User;
  if (method == "ByNamespace") schema.distinguisher_ = Distinguisher::Namespace;
  for (const Json& rules : spec.items_at("rules")) schema.rules_.push_back(read_rules(rules));
  return schema;
}

bool FlowSchema::matches(const FlowAttributes& asked) const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const RuleSet& rules) { return rules.matches(asked); });
}

std::string FlowSchema::flow_of(const FlowAttributes& asked) const {
  std::string flow = name + "/";
  if (distinguisher_ == Distinguisher::User) flow += asked.user.name;
  if (distinguisher_ == Distinguisher::Namespace) flow += asked.ns;
  return flow;
}

FlowSchemas::FlowSchemas(std::vector<FlowSchemaPtr> schemas, std::vector<PriorityLevelPtr> levels)
    : levels_(std::move(levels)), schemas_(std::move(schemas)) {
  std::map<std::string_view, std::size_t> places;
  for (std::size_t at = 0; at < levels_.size(); ++at) places.emplace(levels_[at]->name, at);
  std::erase_if(schemas_, [&](const FlowSchemaPtr& schema) { return !places.contains(schema->level); });
  std::sort(schemas_.begin(), schemas_.end(), [](const FlowSchemaPtr& a, const FlowSchemaPtr& b) {
    return std::tie(a->precedence, a->name) < std::tie(b->precedence, b->name);
  });
  for (const FlowSchemaPtr& schema : schemas_) levels_of_.push_back(places.at(schema->level));
}

std::optional<FlowSchemas::Match> FlowSchemas::match(const FlowAttributes& asked) const {
  const auto found = std::find_if(schemas_.begin(), schemas_.end(),
                                  [&](const FlowSchemaPtr& schema) { return schema->matches(asked); });
  if (found == schemas_.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(found - schemas_.begin());
  return Match{found->get(), levels_[levels_of_[at]].get(), at, levels_of_[at]};
}

}  // namespace berth::server
