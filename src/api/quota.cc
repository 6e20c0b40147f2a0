#include "api/quota.h"

#include <algorithm>
#include <map>
#include <optional>

#include "api/types/pod.h"

namespace berth::api {
namespace {

constexpr std::string_view kClassSuffix = ".storageclass.storage.k8s.io/";
constexpr std::string_view kDevicesSuffix = ".deviceclass.resource.k8s.io/devices";
// Devices of a request for all of a class: the most that a claim's allocation may have.
constexpr std::int64_t kDevicesOfAllRequest = 32;

// Of core, also counted without "count/".
constexpr std::string_view kCountedByName[] = {"configmaps", "resourcequotas", "replicationcontrollers",
                                               "secrets",    "services",       "persistentvolumeclaims"};

void add_count(ResourceMap& amounts, std::string name, std::int64_t count) {
  amounts[std::move(name)] += Quantity::of(count);
}

// Extended resources are not, and those by which pods request devices of a class.
bool is_native(std::string_view resource) {
  if (resource.starts_with("deviceclass.resource.kubernetes.io/")) return false;
  return resource.find('/') == std::string_view::npos ||
         resource.find("kubernetes.io/") != std::string_view::npos;
}

void add_requests(ResourceMap& amounts, const ResourceMap& requests) {
  for (const auto& [name, quantity] : requests) {
    const bool compute = name == "cpu" || name == "memory" || name == "ephemeral-storage";
    const bool pages = name.starts_with("hugepages-");
    if (compute || pages) amounts[name] = quantity;
    if (compute || pages || !is_native(name)) amounts["requests." + name] = quantity;
  }
}

// With the pod's own limits in place of the containers' sum, and its overhead.
ResourceMap pod_limits(const Pod& pod) {
  ResourceMap limits = container_limits(pod);
  if (pod.pod_level_limits)
    for (const auto& [name, quantity] : *pod.pod_level_limits) limits[name] = quantity;
  for (const auto& [name, quantity] : pod.overhead)
    if (const auto limit = limits.find(name); limit != limits.end()) limit->second += quantity;
  return limits;
}

bool names_other_namespaces(const Json& affinity) {
  const auto terms_do = [](const JsonArray& terms, std::string_view inner) {
    return std::any_of(terms.begin(), terms.end(), [&](const Json& item) {
      const Json& term = inner.empty() ? item : item.part(inner);
      return !term.items_at("namespaces").empty() || term.find("namespaceSelector");
    });
  };
  return terms_do(affinity.items_at("requiredDuringSchedulingIgnoredDuringExecution"), "") ||
         terms_do(affinity.items_at("preferredDuringSchedulingIgnoredDuringExecution"), "podAffinityTerm");
}

void charge_pod(const Json& object, QuotaCharge& charge) {
  const Pod pod = decode_pod(object, nullptr);
  const Json &spec = object.part("spec"), &affinity = spec.part("affinity");
  charge.is_pod = true;
  charge.terminating = spec.find("activeDeadlineSeconds") != nullptr;
  charge.best_effort = object.part("status").string_at("qosClass") == "BestEffort";
  charge.cross_namespace_affinity = names_other_namespaces(affinity.part("podAffinity")) ||
                                    names_other_namespaces(affinity.part("podAntiAffinity"));
  if (!pod.priority_class.empty()) charge.priority_classes = {pod.priority_class};
  if (pod.finished()) return;
  add_count(charge.amounts, "pods", 1);
  add_requests(charge.amounts, effective_requests(pod));
  for (const auto& [name, quantity] : pod_limits(pod))
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage")
      charge.amounts["limits." + name] = quantity;
}

void charge_service(const Json& object, QuotaCharge& charge) {
  const Json& spec = object.part("spec");
  const JsonArray& ports = spec.items_at("ports");
  const std::string_view type = spec.string_at("type");
  const bool balanced = type == "LoadBalancer";
  std::int64_t node_ports = 0;
  if (balanced && !spec.bool_at("allocateLoadBalancerNodePorts", true))
    node_ports = std::count_if(ports.begin(), ports.end(),
                               [](const Json& port) { return port.int_at("nodePort") != 0; });
  else if (balanced || type == "NodePort")
    node_ports = static_cast<std::int64_t>(ports.size());
  add_count(charge.amounts, "services.nodeports", node_ports);
  add_count(charge.amounts, "services.loadbalancers", balanced);
}

void charge_volume_claim(const Json& object, QuotaCharge& charge) {
  charge.is_volume_claim = true;
  const Json& status = object.part("status");
  for (const std::string_view name :
       {object.part("spec").string_at("volumeAttributesClassName"),
        status.string_at("currentVolumeAttributesClassName"),
        status.part("modifyVolumeStatus").string_at("targetVolumeAttributesClassName")})
    if (!name.empty()) charge.attributes_classes.emplace_back(name);
  ResourceMap& amounts = charge.amounts;
  constexpr std::string_view kStorage = "storage";
  const Json& spec = object.part("spec");
  const std::string prefix = std::string(spec.string_at("storageClassName")) + std::string(kClassSuffix);
  const bool has_class = prefix.size() > kClassSuffix.size();
  if (has_class) add_count(amounts, prefix + "persistentvolumeclaims", 1);
  std::optional<Quantity> size = decode_quantity(spec.part("resources").part("requests"), kStorage);
  const auto allocated = decode_quantity(object.part("status").part("allocatedResources"), kStorage);
  if (size && allocated) size = std::max(*size, *allocated);
  if (!size) return;
  amounts["requests.storage"] = *size;
  if (has_class) amounts[prefix + "requests.storage"] = *size;
}

std::int64_t devices_of(const Json& request) {
  return request.string_at("allocationMode") == "All" ? kDevicesOfAllRequest : request.int_at("count", 1);
}

// Of alternatives of one class the largest counts.
void charge_claim(const Json& object, QuotaCharge& charge) {
  for (const Json& request : object.part("spec").part("devices").items_at("requests")) {
    std::map<std::string, std::int64_t> devices;
    const auto note = [&](const Json& asked) {
      std::int64_t& most = devices[std::string(asked.string_at("deviceClassName"))];
      most = std::max(most, devices_of(asked));
    };
    if (const Json* exactly = request.find("exactly")) note(*exactly);
    for (const Json& alternative : request.items_at("firstAvailable")) note(alternative);
    for (const auto& [name, count] : devices)
      add_count(charge.amounts, name + std::string(kDevicesSuffix), count);
  }
}

// Resources of which more counts than the object itself.
struct ReadResource {
  std::string_view group, plural;
  void (*charge)(const Json& object, QuotaCharge& charge);
};
constexpr ReadResource kReadResources[] = {{"", "pods", charge_pod},
                                           {"", "services", charge_service},
                                           {"", "persistentvolumeclaims", charge_volume_claim},
                                           {"resource.k8s.io", "resourceclaims", charge_claim}};

const ReadResource* read_resource(std::string_view group, std::string_view plural) {
  const auto* found =
      std::find_if(std::begin(kReadResources), std::end(kReadResources),
                   [&](const ReadResource& row) { return row.group == group && row.plural == plural; });
  return found == std::end(kReadResources) ? nullptr : found;
}

// One class that the expression selects is enough.
bool has_class(const std::vector<std::string>& classes, const Json* expression) {
  const std::string_view op = expression ? expression->string_at("operator") : "Exists";
  if (op == "Exists") return !classes.empty();
  if (classes.empty()) return op != "In";
  if (op == "DoesNotExist") return false;
  const JsonArray& values = expression->items_at("values");
  return std::any_of(classes.begin(), classes.end(), [&](const std::string& name) {
    return (std::find(values.begin(), values.end(), Json(name)) != values.end()) == (op == "In");
  });
}

bool holds(const QuotaCharge& charge, std::string_view scope, const Json* expression) {
  if (charge.is_volume_claim)
    return scope == "VolumeAttributesClass" && has_class(charge.attributes_classes, expression);
  if (scope == "Terminating") return charge.terminating;
  if (scope == "NotTerminating") return !charge.terminating;
  if (scope == "BestEffort") return charge.best_effort;
  if (scope == "NotBestEffort") return !charge.best_effort;
  if (scope == "CrossNamespacePodAffinity") return charge.cross_namespace_affinity;
  return scope == "PriorityClass" && has_class(charge.priority_classes, expression);
}

}  // namespace

QuotaCharge quota_charge(std::string_view group, std::string_view plural, const Json& object) {
  QuotaCharge charge;
  std::string counted = "count/" + std::string(plural);
  if (!group.empty()) counted.append(".").append(group);
  add_count(charge.amounts, std::move(counted), 1);
  const bool by_name = group.empty() && std::find(std::begin(kCountedByName), std::end(kCountedByName),
                                                  plural) != std::end(kCountedByName);
  if (by_name) add_count(charge.amounts, std::string(plural), 1);
  if (const ReadResource* row = read_resource(group, plural)) row->charge(object, charge);
  return charge;
}

bool quota_reads(std::string_view group, std::string_view plural) {
  return read_resource(group, plural) != nullptr;
}

UnsetAmounts unset_amounts(const Json& pod) {
  struct Asked {
    std::string_view name, list, resource;
  };
  static constexpr Asked kAsked[] = {{"cpu", "requests", "cpu"},
                                     {"requests.cpu", "requests", "cpu"},
                                     {"limits.cpu", "limits", "cpu"},
                                     {"memory", "requests", "memory"},
                                     {"limits.memory", "limits", "memory"},
                                     {"requests.memory", "requests", "memory"}};
  const Json& spec = pod.part("spec");
  UnsetAmounts unset;
  const Json& own = spec.part("resources");
  if (own.find("requests") || own.find("limits")) return unset;
  for (const std::string_view list : {"containers", "initContainers"})
    for (const Json& container : spec.items_at(list))
      for (const Asked& asked : kAsked)
        if (!container.part("resources").part(asked.list).find(asked.resource))
          unset[std::string(asked.name)].emplace_back(container.string_at("name"));
  for (auto& [name, containers] : unset) std::sort(containers.begin(), containers.end());
  return unset;
}

std::string missing_amounts(const UnsetAmounts& unset, const ResourceMap& hard) {
  std::string text;
  for (const auto& [name, containers] : unset) {
    if (!hard.contains(name)) continue;
    text.append(text.empty() ? "" : "; ").append(name).append(" for: ");
    for (std::size_t i = 0; i < containers.size(); ++i) text.append(i == 0 ? "" : ",").append(containers[i]);
  }
  return text;
}

bool is_in_scopes(const QuotaCharge& charge, const Json& quota_spec) {
  const JsonArray& scopes = quota_spec.items_at("scopes");
  const JsonArray& expressions = quota_spec.part("scopeSelector").items_at("matchExpressions");
  if (!charge.is_pod && !charge.is_volume_claim) return scopes.empty() && expressions.empty();
  return std::all_of(scopes.begin(), scopes.end(),
                     [&](const Json& scope) {
                       return holds(charge, scope.is_string() ? scope.as_string() : "", nullptr);
                     }) &&
         std::all_of(expressions.begin(), expressions.end(), [&](const Json& expression) {
           return holds(charge, expression.string_at("scopeName"), &expression);
         });
}

}  // namespace berth::api
