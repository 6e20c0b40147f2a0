#include "server/bootstrap_flows.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "server/flow_schemas.h"

namespace berth::server {
namespace {

// `queues` 0: what finds no seat is refused.
struct LevelRow {
  std::string_view name;
  std::int64_t shares, lendable_percent, queues, hand_size;
};
constexpr LevelRow kLevelRows[] = {{"catch-all", 5, 0, 0, 0},         {"system", 30, 33, 64, 6},
                                   {"node-high", 40, 25, 64, 6},      {"leader-election", 10, 0, 16, 4},
                                   {"workload-high", 40, 50, 128, 6}, {"workload-low", 100, 90, 128, 6},
                                   {"global-default", 20, 50, 128, 6}};
constexpr std::int64_t kQueueLength = 50;

// Lists are separated by commas.
struct SchemaRow {
  std::string_view name, level;
  std::int64_t precedence;
  std::string_view distinguisher;
  std::string_view users, groups;  // subjects; "kube-system" as an account: all of that namespace
  std::string_view account_namespace;
};
constexpr std::string_view kEveryone = "system:unauthenticated,system:authenticated";
constexpr SchemaRow kSchemaRows[] = {
    {"exempt", "exempt", 1, "", "", "system:masters", ""},
    {"probes", "exempt", 2, "", "", kEveryone, ""},
    {"system-leader-election", "leader-election", 100, "ByUser",
     "system:kube-controller-manager,system:kube-scheduler", "", "kube-system"},
    {"system-node-high", "node-high", 400, "ByUser", "", "system:nodes", ""},
    {"system-nodes", "system", 500, "ByUser", "", "system:nodes", ""},
    {"kube-controller-manager", "workload-high", 800, "ByNamespace", "system:kube-controller-manager", "",
     ""},
    {"kube-scheduler", "workload-high", 800, "ByNamespace", "system:kube-scheduler", "", ""},
    {"kube-system-service-accounts", "workload-high", 900, "ByNamespace", "", "", "kube-system"},
    {"service-accounts", "workload-low", 9000, "ByUser", "", "system:serviceaccounts", ""},
    {"global-default", "global-default", 9900, "ByUser", "", kEveryone, ""},
    {"catch-all", "catch-all", 10000, "ByUser", "", kEveryone, ""},
};

JsonArray items_in(std::string_view list) {
  JsonArray items;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    items.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return items;
}

Json resource_rule(std::string_view verbs, std::string_view group, std::string_view resources,
                   bool cluster_scope) {
  Json rule = Json::object(
      {{"verbs", items_in(verbs)}, {"apiGroups", Json::array({group})}, {"resources", items_in(resources)}});
  if (cluster_scope) rule["clusterScope"] = true;
  rule["namespaces"] = Json::array({"*"});
  return rule;
}

Json path_rule(std::string_view verbs, std::string_view paths) {
  return Json::object({{"verbs", items_in(verbs)}, {"nonResourceURLs", items_in(paths)}});
}

// Most schemas are about all that their subjects ask.
void add_rules(Json& rules, std::string_view schema) {
  constexpr std::string_view kLeases = "coordination.k8s.io";
  if (schema == "probes") {
    rules["nonResourceRules"] = Json::array({path_rule("get", "/healthz,/readyz,/livez")});
  } else if (schema == "system-leader-election") {
    rules["resourceRules"] = Json::array({resource_rule("get,create,update", kLeases, "leases", false)});
  } else if (schema == "system-node-high") {
    rules["resourceRules"] = Json::array(
        {resource_rule("*", "", "nodes,nodes/status", true), resource_rule("*", kLeases, "leases", false)});
  } else {
    rules["resourceRules"] = Json::array({resource_rule("*", "*", "*", true)});
    rules["nonResourceRules"] = Json::array({path_rule("*", "*")});
  }
}

Json flow_object(std::string_view kind, std::string_view name, Json spec) {
  Json metadata = Json::object(
      {{"name", name}, {"annotations", Json::object({{"apf.kubernetes.io/autoupdate-spec", "true"}})}});
  return Json::object({{"kind", kind},
                       {"apiVersion", std::string(kFlowControlGroup) + "/v1"},
                       {"metadata", std::move(metadata)},
                       {"spec", std::move(spec)}});
}

Json level_object(const LevelRow& row) {
  Json response = Json::object({{"type", row.queues == 0 ? "Reject" : "Queue"}});
  if (row.queues > 0)
    response["queuing"] = Json::object(
        {{"queues", row.queues}, {"handSize", row.hand_size}, {"queueLengthLimit", kQueueLength}});
  Json limited = Json::object({{"nominalConcurrencyShares", row.shares},
                               {"limitResponse", std::move(response)},
                               {"lendablePercent", row.lendable_percent}});
  return flow_object("PriorityLevelConfiguration", row.name,
                     Json::object({{"type", "Limited"}, {"limited", std::move(limited)}}));
}

Json exempt_level() {
  Json exempt = Json::object({{"nominalConcurrencyShares", 0}, {"lendablePercent", 0}});
  return flow_object("PriorityLevelConfiguration", "exempt",
                     Json::object({{"type", "Exempt"}, {"exempt", std::move(exempt)}}));
}

Json schema_object(const SchemaRow& row) {
  JsonArray subjects;
  for (const Json& name : items_in(row.users))
    subjects.push_back(Json::object({{"kind", "User"}, {"user", Json::object({{"name", name}})}}));
  for (const Json& name : items_in(row.groups))
    subjects.push_back(Json::object({{"kind", "Group"}, {"group", Json::object({{"name", name}})}}));
  if (!row.account_namespace.empty())
    subjects.push_back(Json::object(
        {{"kind", "ServiceAccount"},
         {"serviceAccount", Json::object({{"namespace", row.account_namespace}, {"name", "*"}})}}));
  Json rules = Json::object({{"subjects", std::move(subjects)}});
  add_rules(rules, row.name);
  Json spec = Json::object({{"priorityLevelConfiguration", Json::object({{"name", row.level}})},
                            {"matchingPrecedence", row.precedence}});
  if (!row.distinguisher.empty()) spec["distinguisherMethod"] = Json::object({{"type", row.distinguisher}});
  spec["rules"] = Json::array({std::move(rules)});
  return flow_object("FlowSchema", row.name, std::move(spec));
}

}  // namespace

std::vector<Json> bootstrap_flow_objects() {
  std::vector<Json> objects{exempt_level()};
  for (const LevelRow& row : kLevelRows) objects.push_back(level_object(row));
  for (const SchemaRow& row : kSchemaRows) objects.push_back(schema_object(row));
  return objects;
}

}  // namespace berth::server
