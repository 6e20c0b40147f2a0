#include "server/tables.h"

#include <set>

#include "server/conditions.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

// The members of an object; empty for anything else.
const JsonObject& members_of(const Json& json) {
  static const JsonObject kNone;
  return json.is_object() ? json.as_object() : kNone;
}

// The member `key` of each item, comma separated.
std::string joined(const JsonArray& items, std::string_view key) {
  std::string text;
  for (const Json& item : items) text.append(text.empty() ? "" : ",").append(item.string_at(key));
  return text;
}

// An int-or-string, or N/A.
Json amount_or_na(const Json& spec, std::string_view key) {
  const Json* amount = spec.find(key);
  if (!amount || amount->is_null()) return "N/A";
  return amount->is_int() ? Json(std::to_string(amount->as_int())) : *amount;
}

// The default columns of the reference, which shows no age there.
JsonArray definition_cells(const Json& definition, Time) {
  return {name_of(definition), metadata_of(definition).string_at("creationTimestamp")};
}

JsonArray plain_cells(const Json& object, Time now) {
  return {name_of(object), age_of(object, now)};
}

std::string node_roles(const Json& node) {
  static constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  const Json& labels = metadata_of(node).part("labels");
  for (const JsonMember& label : members_of(labels))
    if (label.key.rfind(kPrefix, 0) == 0 && label.key.size() > kPrefix.size())
      roles.insert(label.key.substr(kPrefix.size()));
  const std::string_view named = labels.string_at("kubernetes.io/role");
  if (!named.empty()) roles.emplace(named);
  std::string text;
  for (const std::string& role : roles) text += (text.empty() ? "" : ",") + role;
  return or_else(text, "<none>");
}

std::string node_address(const Json& status, std::string_view type) {
  for (const Json& address : status.items_at("addresses"))
    if (address.string_at("type") == type) return std::string(address.string_at("address"));
  return "<none>";
}

JsonArray node_cells(const Json& node, Time now) {
  const Json& status = node.part("status");
  const Json& info = status.part("nodeInfo");
  std::string state = "Unknown";
  for (const Json& condition : status.items_at("conditions"))
    if (condition.string_at("type") == "Ready")
      state = condition.string_at("status") == "True" ? "Ready" : "NotReady";
  if (node.part("spec").bool_at("unschedulable")) state += ",SchedulingDisabled";
  return {name_of(node),
          state,
          node_roles(node),
          age_of(node, now),
          info.string_at("kubeletVersion"),
          node_address(status, "InternalIP"),
          node_address(status, "ExternalIP"),
          or_else(info.string_at("osImage"), "<unknown>"),
          or_else(info.string_at("kernelVersion"), "<unknown>"),
          or_else(info.string_at("containerRuntimeVersion"), "<unknown>")};
}

JsonArray event_cells(const Json& event, Time now) {
  const Json& about = event.part("involvedObject");
  const Json& source = event.part("source");
  const std::string first =
      since(or_else(event.string_at("firstTimestamp"), event.string_at("eventTime")), now);
  const std::string_view last_time = event.string_at("lastTimestamp");
  std::string last = last_time.empty() ? first : since(last_time, now);
  std::int64_t count = event.int_at("count");
  if (const Json* series = event.find("series"); series && series->is_object()) {
    last = since(series->string_at("lastObservedTime"), now);
    count = series->int_at("count");
  } else if (count == 0) {
    count = 1;
  }
  std::string target(about.string_at("kind"));
  for (char& c : target)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (!about.string_at("name").empty()) target.append("/").append(about.string_at("name"));
  std::string from = or_else(source.string_at("component"), event.string_at("reportingComponent"));
  const std::string host = or_else(source.string_at("host"), event.string_at("reportingInstance"));
  if (!host.empty()) from += ", " + host;
  return {last,
          event.string_at("type"),
          event.string_at("reason"),
          target,
          about.string_at("fieldPath"),
          from,
          event.string_at("message"),
          first,
          count,
          name_of(event)};
}

JsonArray namespace_cells(const Json& ns, Time now) {
  return {name_of(ns), ns.part("status").string_at("phase"), age_of(ns, now)};
}

std::int64_t member_count(const Json& object, std::string_view key) {
  return static_cast<std::int64_t>(members_of(object.part(key)).size());
}

JsonArray configmap_cells(const Json& map, Time now) {
  return {name_of(map), member_count(map, "data") + member_count(map, "binaryData"), age_of(map, now)};
}

JsonArray secret_cells(const Json& secret, Time now) {
  return {name_of(secret), secret.string_at("type"), member_count(secret, "data"), age_of(secret, now)};
}

std::string service_ports(const Json& spec) {
  std::string text;
  for (const Json& port : spec.items_at("ports")) {
    if (!text.empty()) text += ",";
    text += std::to_string(port.int_at("port"));
    if (port.int_at("nodePort") > 0) text += ":" + std::to_string(port.int_at("nodePort"));
    text.append("/").append(port.string_at("protocol"));
  }
  return or_else(text, "<none>");
}

std::string external_address(const Json& service) {
  const Json& spec = service.part("spec");
  const std::string_view type = spec.string_at("type");
  if (type == "ExternalName") return std::string(spec.string_at("externalName"));
  std::string text;
  if (type == "LoadBalancer")
    text = joined(service.part("status").part("loadBalancer").items_at("ingress"), "ip");
  for (const Json& address : spec.items_at("externalIPs"))
    text += (text.empty() ? "" : ",") + (address.is_string() ? address.as_string() : "");
  return or_else(text, type == "LoadBalancer" ? "<pending>" : "<none>");
}

JsonArray service_cells(const Json& service, Time now) {
  const Json& spec = service.part("spec");
  return {name_of(service),
          spec.string_at("type"),
          or_else(spec.string_at("clusterIP"), "<none>"),
          external_address(service),
          service_ports(spec),
          age_of(service, now),
          labels_text(spec.part("selector"))};
}

JsonArray deployment_cells(const Json& deployment, Time now) {
  const Json &spec = deployment.part("spec"), &status = deployment.part("status");
  JsonArray cells = {
      name_of(deployment),
      std::to_string(status.int_at("readyReplicas")) + "/" + std::to_string(spec.int_at("replicas", 1)),
      status.int_at("updatedReplicas"), status.int_at("availableReplicas"), age_of(deployment, now)};
  append_template(cells, spec);
  return cells;
}

std::string job_state(const Json& job) {
  const Json& status = job.part("status");
  if (condition_is_true(status, "Complete")) return "Complete";
  if (condition_is_true(status, "Failed")) return "Failed";
  if (is_deleting(job)) return "Terminating";
  for (const char* type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"})
    if (condition_is_true(status, type)) return type;
  return "Running";
}

JsonArray job_cells(const Json& job, Time now) {
  const Json &spec = job.part("spec"), &status = job.part("status");
  const std::string done = std::to_string(status.int_at("succeeded")) + "/";
  const std::int64_t parallelism = spec.int_at("parallelism");
  std::string completions = done + "1";
  if (spec.find("completions"))
    completions = done + std::to_string(spec.int_at("completions"));
  else if (parallelism > 1)
    completions += " of " + std::to_string(parallelism);
  const Result<Time> ended = parse_time(status.string_at("completionTime"));
  const std::string_view began = status.string_at("startTime");
  JsonArray cells = {name_of(job), job_state(job), completions,
                     began.empty() ? "" : since(began, ended ? *ended : now), age_of(job, now)};
  append_template(cells, spec);
  return cells;
}

JsonArray budget_cells(const Json& budget, Time now) {
  const Json& spec = budget.part("spec");
  return {name_of(budget), amount_or_na(spec, "minAvailable"), amount_or_na(spec, "maxUnavailable"),
          budget.part("status").int_at("disruptionsAllowed"), age_of(budget, now)};
}

JsonArray lease_cells(const Json& lease, Time now) {
  return {name_of(lease), lease.part("spec").string_at("holderIdentity"), age_of(lease, now)};
}

JsonArray priority_cells(const Json& priority, Time now) {
  return {name_of(priority), priority.int_at("value"), priority.bool_at("globalDefault"),
          age_of(priority, now), or_else(priority.string_at("preemptionPolicy"), "PreemptLowerPriority")};
}

JsonArray claim_cells(const Json& claim, Time now) {
  const Json& status = claim.part("status");
  std::string state = is_deleting(claim) ? "deleted," : "";
  if (!status.find("allocation"))
    state += "pending";
  else
    state += status.items_at("reservedFor").empty() ? "allocated" : "allocated,reserved";
  return {name_of(claim), state, age_of(claim, now)};
}

JsonArray slice_cells(const Json& slice, Time now) {
  const Json& spec = slice.part("spec");
  return {name_of(slice), spec.string_at("nodeName"), spec.string_at("driver"),
          spec.part("pool").string_at("name"), age_of(slice, now)};
}

JsonArray health_policy_cells(const Json& policy, Time now) {
  const Json &spec = policy.part("spec"), &status = policy.part("status");
  const std::string_view health = spec.string_at("health");
  return {name_of(policy),
          spec.string_at("driver"),
          health.empty() ? "Unhealthy" : health,
          spec.string_at("effect"),
          status.int_at("matchingDevices"),
          status.int_at("taintedDevices"),
          status.int_at("devicesOverBudget"),
          age_of(policy, now)};
}

JsonArray node_health_cells(const Json& report, Time now) {
  const Json& spec = report.part("spec");
  return {name_of(report),
          spec.int_at("healthy"),
          spec.int_at("unhealthy"),
          spec.int_at("unknown"),
          since(spec.string_at("observed"), now),
          age_of(report, now)};
}

std::string_view condition_member(const Json& status, std::string_view type, std::string_view member) {
  const Json* condition = find_condition(status, type);
  return condition ? condition->string_at(member) : std::string_view();
}

JsonArray topology_cells(const Json& topology, Time now) {
  const Json& status = topology.part("status");
  return {name_of(topology),
          status.string_at("path"),
          status.int_at("nodes"),
          status.int_at("unlabelledNodes"),
          condition_member(status, "Valid", "status"),
          age_of(topology, now)};
}

JsonArray placement_policy_cells(const Json& policy, Time now) {
  const Json &spec = policy.part("spec"), &status = policy.part("status");
  const Json& target = spec.part("targetRef");
  return {name_of(policy),
          target.string_at("name"),
          status.string_at("pods"),
          status.string_at("domain"),
          status.string_at("wish"),
          status.string_at("reached"),
          condition_member(status, "Accepted", "reason"),
          age_of(policy, now),
          target.string_at("kind"),
          spec.string_at("topology")};
}

JsonArray taint_rule_cells(const Json& rule, Time now) {
  const Json& taint = rule.part("spec").part("taint");
  return {name_of(rule),
          taint.string_at("key"),
          taint.string_at("value"),
          taint.string_at("effect"),
          since(taint.string_at("timeAdded"), now),
          age_of(rule, now)};
}

std::string group_policy(const Json& group) {
  const Json& policy = group.part("spec").part("schedulingPolicy");
  if (policy.find("gang")) return "Gang";
  return policy.find("basic") ? "Basic" : "<none>";
}

std::string group_workload(const Json& group) {
  return or_else(group.part("spec").part("workloadRef").string_at("workloadName"), "<none>");
}

JsonArray pod_group_cells(const Json& group, Time now) {
  const bool scheduled = condition_is_true(group.part("status"), "PodGroupInitiallyScheduled");
  return {name_of(group), group_policy(group), group_workload(group), scheduled ? "Scheduled" : "Pending",
          age_of(group, now)};
}

JsonArray composite_group_cells(const Json& group, Time now) {
  return {name_of(group), group_policy(group), group_workload(group), age_of(group, now)};
}

// The sum over all pools, as text.
std::string pool_sum(const Json& status, std::string_view member) {
  std::int64_t sum = 0;
  for (const Json& pool : status.items_at("pools")) sum += pool.int_at(member);
  return std::to_string(sum);
}

JsonArray pool_status_cells(const Json& request, Time now) {
  const Json& status = request.part("status");
  std::int64_t errors = 0;
  for (const Json& pool : status.items_at("pools"))
    errors += pool.string_at("validationError").empty() ? 0 : 1;
  std::string state = "Pending";
  std::string completed = "<none>";
  for (const Json& condition : status.items_at("conditions")) {
    if (condition.string_at("status") != "True") continue;
    state = condition.string_at("type");
    completed = since(condition.string_at("lastTransitionTime"), now);
  }
  return {name_of(request),
          request.part("spec").string_at("driver"),
          pool_sum(status, "totalDevices"),
          pool_sum(status, "availableDevices"),
          pool_sum(status, "allocatedDevices"),
          pool_sum(status, "unavailableDevices"),
          std::to_string(errors),
          status.int_at("poolCount"),
          state,
          completed};
}

JsonArray bind_request_cells(const Json& request, Time now) {
  const Json &spec = request.part("spec"), &status = request.part("status");
  const JsonArray& members = spec.items_at("members");
  return {name_of(request),
          members.empty() ? std::string(spec.string_at("podName"))
                          : "<" + std::to_string(members.size()) + " members>",
          spec.string_at("selectedNode"),
          or_else(status.string_at("phase"), "Pending"),
          status.string_at("step"),
          or_else(spec.part("group").string_at("name"), "<none>"),
          age_of(request, now),
          spec.string_at("decisionID"),
          status.string_at("reason"),
          status.int_at("failedAttempts")};
}

}  // namespace

std::string labels_text(const Json& labels) {
  if (!labels.is_object() || labels.as_object().empty()) return "<none>";
  std::set<std::string> pairs;
  for (const JsonMember& label : labels.as_object())
    pairs.insert(label.key + "=" + (label.value.is_string() ? label.value.as_string() : ""));
  std::string text;
  for (const std::string& pair : pairs) text += (text.empty() ? "" : ",") + pair;
  return text;
}

void append_template(JsonArray& cells, const Json& spec) {
  const JsonArray& containers = spec.part("template").part("spec").items_at("containers");
  cells.emplace_back(joined(containers, "name"));
  cells.emplace_back(joined(containers, "image"));
  cells.emplace_back(labels_text(spec.part("selector").part("matchLabels")));
}

std::string name_of(const Json& object) {
  return std::string(metadata_of(object).string_at("name"));
}

std::string since(std::string_view time, Time now) {
  const Result<Time> then = parse_time(time);
  return then ? human_age(now - *then) : "<unknown>";
}

std::string age_of(const Json& object, Time now) {
  return since(metadata_of(object).string_at("creationTimestamp"), now);
}

std::string or_else(std::string_view text, std::string_view otherwise) {
  return std::string(text.empty() ? otherwise : text);
}

namespace {

constexpr TableColumn kPlainColumns[] = {kName, kAge};
constexpr TableColumn kPodColumns[] = {kName,
                                       {"Ready"},
                                       {"Status"},
                                       {"Restarts"},
                                       kAge,
                                       {"IP", "string", 1},
                                       {"Node", "string", 1},
                                       {"Nominated Node", "string", 1},
                                       {"Readiness Gates", "string", 1}};
constexpr TableColumn kNodeColumns[] = {kName,
                                        {"Status"},
                                        {"Roles"},
                                        kAge,
                                        {"Version"},
                                        {"Internal-IP", "string", 1},
                                        {"External-IP", "string", 1},
                                        {"OS-Image", "string", 1},
                                        {"Kernel-Version", "string", 1},
                                        {"Container-Runtime", "string", 1}};
constexpr TableColumn kDefinitionColumns[] = {kName, {"Created At", "date"}};
constexpr TableColumn kEventColumns[] = {{"Last Seen"},
                                         {"Type"},
                                         {"Reason"},
                                         {"Object"},
                                         {"Subobject", "string", 1},
                                         {"Source", "string", 1},
                                         {"Message"},
                                         {"First Seen", "string", 1},
                                         {"Count", "string", 1},
                                         {"Name", "string", 1, true}};
constexpr TableColumn kNamespaceColumns[] = {kName, {"Status"}, kAge};
constexpr TableColumn kConfigMapColumns[] = {kName, {"Data"}, kAge};
constexpr TableColumn kSecretColumns[] = {kName, {"Type"}, {"Data"}, kAge};
constexpr TableColumn kServiceColumns[] = {kName,       {"Type"}, {"Cluster-IP"},           {"External-IP"},
                                           {"Port(s)"}, kAge,     {"Selector", "string", 1}};
constexpr TableColumn kDeploymentColumns[] = {kName,
                                              {"Ready"},
                                              {"Up-to-date"},
                                              {"Available"},
                                              kAge,
                                              {"Containers", "string", 1},
                                              {"Images", "string", 1},
                                              {"Selector", "string", 1}};
constexpr TableColumn kJobColumns[] = {kName,
                                       {"Status"},
                                       {"Completions"},
                                       {"Duration"},
                                       kAge,
                                       {"Containers", "string", 1},
                                       {"Images", "string", 1},
                                       {"Selector", "string", 1}};
constexpr TableColumn kBudgetColumns[] = {
    kName, {"Min Available"}, {"Max Unavailable"}, {"Allowed Disruptions", "integer"}, kAge};
constexpr TableColumn kLeaseColumns[] = {kName, {"Holder"}, kAge};
constexpr TableColumn kPriorityColumns[] = {
    kName, {"Value", "integer"}, {"Global-Default", "boolean"}, kAge, {"PreemptionPolicy"}};
constexpr TableColumn kPodGroupColumns[] = {kName, {"Policy"}, {"Workload"}, {"Status"}, kAge};
constexpr TableColumn kCompositeGroupColumns[] = {kName, {"Policy"}, {"Workload"}, kAge};
constexpr TableColumn kClaimColumns[] = {kName, {"State"}, kAge};
constexpr TableColumn kSliceColumns[] = {kName, {"Node"}, {"Driver"}, {"Pool"}, kAge};
constexpr TableColumn kTaintRuleColumns[] = {kName, {"Key"}, {"Value"}, {"Effect"}, {"TimeAdded"}, kAge};
constexpr TableColumn kPoolStatusColumns[] = {
    kName,      {"Driver"},           {"Total"},  {"Available"}, {"Allocated"}, {"Unavailable"},
    {"Errors"}, {"Pools", "integer"}, {"Status"}, {"Completed"}};
constexpr TableColumn kHealthPolicyColumns[] = {kName,
                                                {"Driver"},
                                                {"Health"},
                                                {"Effect"},
                                                {"Matching", "integer"},
                                                {"Tainted", "integer"},
                                                {"Over-Budget", "integer"},
                                                kAge};
constexpr TableColumn kNodeHealthColumns[] = {
    kName, {"Healthy", "integer"}, {"Unhealthy", "integer"}, {"Unknown", "integer"}, {"Observed"}, kAge};
constexpr TableColumn kTopologyColumns[] = {
    kName, {"Levels"}, {"Nodes", "integer"}, {"Unlabelled", "integer"}, {"Valid"}, kAge};
constexpr TableColumn kPlacementPolicyColumns[] = {kName,
                                                   {"Target"},
                                                   {"Pods"},
                                                   {"Domain"},
                                                   {"Wish"},
                                                   {"Reached"},
                                                   {"Status"},
                                                   kAge,
                                                   {"Kind", "string", 1},
                                                   {"Topology", "string", 1}};
constexpr TableColumn kBindRequestColumns[] = {kName,
                                               {"Pod"},
                                               {"Node"},
                                               {"Phase"},
                                               {"Step"},
                                               {"Group"},
                                               kAge,
                                               {"Decision", "string", 1},
                                               {"Reason", "string", 1},
                                               {"Attempts", "integer", 1}};

constexpr TableRow kRows[] = {
    {"", "pods", {kPodColumns, pod_cells}},
    {"", "nodes", {kNodeColumns, node_cells}},
    {"", "events", {kEventColumns, event_cells}},
    {"", "namespaces", {kNamespaceColumns, namespace_cells}},
    {"", "configmaps", {kConfigMapColumns, configmap_cells}},
    {"", "secrets", {kSecretColumns, secret_cells}},
    {"", "services", {kServiceColumns, service_cells}},
    {"apiextensions.k8s.io", "customresourcedefinitions", {kDefinitionColumns, definition_cells}},
    {"apps", "deployments", {kDeploymentColumns, deployment_cells}},
    {"batch", "jobs", {kJobColumns, job_cells}},
    {"policy", "poddisruptionbudgets", {kBudgetColumns, budget_cells}},
    {"coordination.k8s.io", "leases", {kLeaseColumns, lease_cells}},
    {"scheduling.k8s.io", "priorityclasses", {kPriorityColumns, priority_cells}},
    {"scheduling.k8s.io", "podgroups", {kPodGroupColumns, pod_group_cells}},
    {"scheduling.k8s.io", "compositepodgroups", {kCompositeGroupColumns, composite_group_cells}},
    {"resource.k8s.io", "resourceclaims", {kClaimColumns, claim_cells}},
    {"resource.k8s.io", "resourceslices", {kSliceColumns, slice_cells}},
    {"resource.k8s.io", "devicetaintrules", {kTaintRuleColumns, taint_rule_cells}},
    {"resource.k8s.io", "resourcepoolstatusrequests", {kPoolStatusColumns, pool_status_cells}},
    {api::kBerthGroup, "bindrequests", {kBindRequestColumns, bind_request_cells}},
    {api::kBerthGroup, "devicehealthpolicies", {kHealthPolicyColumns, health_policy_cells}},
    {api::kBerthGroup, "nodedevicehealths", {kNodeHealthColumns, node_health_cells}},
    {api::kBerthGroup, "placementpolicies", {kPlacementPolicyColumns, placement_policy_cells}},
    {api::kBerthGroup, "topologies", {kTopologyColumns, topology_cells}},
};

constexpr TableColumns kPlain = {kPlainColumns, plain_cells};

}  // namespace

const TableColumns& columns_of(const api::ResourceInfo& resource) {
  // Both groups of events show the same stored objects.
  const std::string_view group = resource.group == "events.k8s.io" ? "" : resource.group;
  for (const std::span<const TableRow> rows :
       {std::span<const TableRow>(kRows), workload_rows(), cluster_rows()})
    for (const TableRow& row : rows)
      if (row.group == group && row.resource == resource.plural) return row.columns;
  return kPlain;
}

Json definitions_json(const TableColumns& columns) {
  JsonArray definitions;
  for (const TableColumn& column : columns.columns)
    definitions.push_back(Json::object({{"name", column.name},
                                        {"type", column.type},
                                        {"format", column.is_name ? "name" : ""},
                                        {"description", ""},
                                        {"priority", column.priority}}));
  return definitions;
}

}  // namespace berth::server
