// Columns of kinds that belong to the cluster: certificates, runtime classes, addresses of Services, priority
// levels, API versions, measured usage. Source: pkg/printers/internalversion of Kubernetes 1.37, and the
// table converters of kube-aggregator and metrics-server.
#include <algorithm>
#include <vector>

#include "base/quantity.h"
#include "server/flow_schemas.h"
#include "server/metadata.h"
#include "server/tables.h"

namespace berth::server {
namespace {

std::string signing_state(const Json& request) {
  const auto has = [&](std::string_view type) {
    for (const Json& condition : request.part("status").items_at("conditions"))
      if (condition.string_at("type") == type) return true;
    return false;
  };
  std::string state = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  if (has("Failed")) state += ",Failed";
  if (!request.part("status").string_at("certificate").empty()) state += ",Issued";
  return state;
}

JsonArray signing_request_cells(const Json& request, Time now) {
  const Json& spec = request.part("spec");
  const std::int64_t seconds = spec.int_at("expirationSeconds");
  return {name_of(request),
          age_of(request, now),
          or_else(spec.string_at("signerName"), "<none>"),
          spec.string_at("username"),
          seconds > 0 ? human_age(Duration::seconds(seconds)) : "<none>",
          signing_state(request)};
}

JsonArray runtime_class_cells(const Json& object, Time now) {
  return {name_of(object), object.string_at("handler"), age_of(object, now)};
}

JsonArray ip_address_cells(const Json& object, Time now) {
  const Json& parent = object.part("spec").part("parentRef");
  std::string text(parent.string_at("resource"));
  if (const std::string_view group = parent.string_at("group"); !group.empty())
    text.append(".").append(group);
  if (const std::string_view ns = parent.string_at("namespace"); !ns.empty()) text.append("/").append(ns);
  text.append("/").append(parent.string_at("name"));
  return {name_of(object), parent.is_null() ? "<none>" : text, age_of(object, now)};
}

JsonArray range_cells(const Json& object, Time now) {
  std::string text;
  for (const Json& range : object.part("spec").items_at("cidrs"))
    text.append(text.empty() ? "" : ",").append(range.as_string());
  return {name_of(object), text, age_of(object, now)};
}

// At most three of a list, and how many more there are.
std::string some_of(const std::vector<std::string>& all, std::string_view otherwise) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kShown); ++i) text += (i > 0 ? "," : "") + all[i];
  if (all.size() > kShown) text += " + " + std::to_string(all.size() - kShown) + " more...";
  return or_else(text, otherwise);
}

JsonArray endpoints_cells(const Json& object, Time now) {
  std::vector<std::string> all;
  for (const Json& subset : object.items_at("subsets")) {
    JsonArray ports = subset.items_at("ports");
    if (ports.empty()) ports.emplace_back();
    for (const Json& port : ports)
      for (const Json& address : subset.items_at("addresses")) {
        std::string ip(address.string_at("ip"));
        if (ip.find(':') != std::string::npos && !port.is_null()) ip = "[" + ip + "]";
        all.push_back(port.is_null() ? ip : ip + ":" + std::to_string(port.int_at("port")));
      }
  }
  return {name_of(object), some_of(all, "<none>"), age_of(object, now)};
}

JsonArray endpoint_slice_cells(const Json& object, Time now) {
  std::vector<std::string> ports, addresses;
  for (const Json& port : object.items_at("ports")) {
    const std::int64_t number = port.int_at("port");
    ports.push_back(number > 0 ? std::to_string(number) : or_else(port.string_at("name"), "*"));
  }
  for (const Json& endpoint : object.items_at("endpoints"))
    for (const Json& address : endpoint.items_at("addresses")) addresses.push_back(address.as_string());
  return {name_of(object), object.string_at("addressType"), some_of(ports, "<unset>"),
          some_of(addresses, "<unset>"), age_of(object, now)};
}

JsonArray registration_cells(const Json& object, Time now) {
  const Json& service = object.part("spec").part("service");
  std::string available = "Unknown";
  for (const Json& condition : object.part("status").items_at("conditions"))
    if (condition.string_at("type") == "Available") {
      available = condition.string_at("status");
      if (available != "True") available.append(" (").append(condition.string_at("reason")).append(")");
    }
  const std::string named =
      std::string(service.string_at("namespace")) + "/" + std::string(service.string_at("name"));
  return {name_of(object), service.is_null() ? "Local" : named, available, age_of(object, now)};
}

JsonArray node_metrics_cells(const Json& object, Time) {
  const Json& usage = object.part("usage");
  return {name_of(object), usage.string_at("cpu"), usage.string_at("memory"), object.string_at("window")};
}

// Of all containers together.
JsonArray pod_metrics_cells(const Json& object, Time) {
  JsonArray cells = {name_of(object)};
  for (const std::string_view resource : {"cpu", "memory"}) {
    Quantity total;
    for (const Json& container : object.items_at("containers"))
      if (const auto amount = parse_quantity(container.part("usage").string_at(resource))) total += *amount;
    cells.emplace_back(total.text());
  }
  cells.emplace_back(object.string_at("window"));
  return cells;
}

// A cell for a member that may be absent.
Json or_none(const Json& value) {
  return value.is_null() ? Json("<none>") : value;
}

JsonArray flow_schema_cells(const Json& object, Time now) {
  const Json& spec = object.part("spec");
  std::string missing = "?";
  for (const Json& condition : object.part("status").items_at("conditions"))
    if (condition.string_at("type") == "Dangling") missing = condition.string_at("status");
  return {name_of(object),
          spec.part("priorityLevelConfiguration").string_at("name"),
          spec.int_at("matchingPrecedence"),
          or_else(spec.part("distinguisherMethod").string_at("type"), "<none>"),
          age_of(object, now),
          missing};
}

JsonArray priority_level_cells(const Json& object, Time now) {
  const Json &spec = object.part("spec"), &limited = spec.part("limited"),
             &queuing = limited.part("limitResponse").part("queuing");
  return {name_of(object),
          spec.string_at("type"),
          or_none(limited.part("nominalConcurrencyShares")),
          or_none(queuing.part("queues")),
          or_none(queuing.part("handSize")),
          or_none(queuing.part("queueLengthLimit")),
          age_of(object, now)};
}

constexpr TableColumn kSigningColumns[] = {
    kName, kAge, {"SignerName"}, {"Requestor"}, {"RequestedDuration"}, {"Condition"}};
constexpr TableColumn kRuntimeClassColumns[] = {kName, {"Handler"}, kAge};
constexpr TableColumn kIpAddressColumns[] = {kName, {"ParentRef"}, kAge};
constexpr TableColumn kRangeColumns[] = {kName, {"CIDRs"}, kAge};
constexpr TableColumn kEndpointsColumns[] = {kName, {"Endpoints"}, kAge};
constexpr TableColumn kEndpointSliceColumns[] = {kName, {"AddressType"}, {"Ports"}, {"Endpoints"}, kAge};
constexpr TableColumn kFlowSchemaColumns[] = {
    kName, {"PriorityLevel"}, {"MatchingPrecedence"}, {"DistinguisherMethod"}, kAge, {"MissingPL"}};
constexpr TableColumn kPriorityLevelColumns[] = {
    kName, {"Type"}, {"NominalConcurrencyShares"}, {"Queues"}, {"HandSize"}, {"QueueLengthLimit"}, kAge};
constexpr TableColumn kRegistrationColumns[] = {kName, {"Service"}, {"Available"}, kAge};
constexpr TableColumn kMetricsColumns[] = {kName, {"cpu"}, {"memory"}, {"Window"}};

constexpr TableRow kClusterRows[] = {
    {"", "endpoints", {kEndpointsColumns, endpoints_cells}},
    {"discovery.k8s.io", "endpointslices", {kEndpointSliceColumns, endpoint_slice_cells}},
    {"apiregistration.k8s.io", "apiservices", {kRegistrationColumns, registration_cells}},
    {"certificates.k8s.io", "certificatesigningrequests", {kSigningColumns, signing_request_cells}},
    {"metrics.k8s.io", "nodes", {kMetricsColumns, node_metrics_cells}},
    {"metrics.k8s.io", "pods", {kMetricsColumns, pod_metrics_cells}},
    {kFlowControlGroup, "flowschemas", {kFlowSchemaColumns, flow_schema_cells}},
    {kFlowControlGroup, "prioritylevelconfigurations", {kPriorityLevelColumns, priority_level_cells}},
    {"networking.k8s.io", "ipaddresses", {kIpAddressColumns, ip_address_cells}},
    {"networking.k8s.io", "servicecidrs", {kRangeColumns, range_cells}},
    {"node.k8s.io", "runtimeclasses", {kRuntimeClassColumns, runtime_class_cells}},
};

}  // namespace

std::span<const TableRow> cluster_rows() {
  return kClusterRows;
}

}  // namespace berth::server
