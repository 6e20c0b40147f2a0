#include "api/types/pod.h"

#include <algorithm>

#include "api/protobuf_document.h"
#include "api/types/gpu_share.h"
#include "base/ascii.h"

namespace berth::api {
namespace {

// The decoders of this file read Json and ProtobufDocument.
template <class Document>
Container decode_container(const Document& document) {
  Container container;
  container.name = document.string_at("name");
  container.image = document.string_at("image");
  container.restartable_init = document.string_at("restartPolicy") == "Always";
  if (const auto resources = document.find("resources")) {
    container.requests = resource_map_at(*resources, "requests");
    container.limits = resource_map_at(*resources, "limits");
    for (const Document& claim : resources->items_at("claims"))
      container.claims.push_back(
          {std::string(claim.string_at("name")), std::string(claim.string_at("request"))});
  }
  return container;
}

template <class Document>
void decode_host_ports(const Document& container, std::vector<HostPort>& ports) {
  for (const Document& port : container.items_at("ports")) {
    const std::int64_t number = port.int_at("hostPort");
    if (number <= 0) continue;
    HostPort& taken = ports.emplace_back();
    taken.port = static_cast<std::int32_t>(number);
    taken.protocol = port.string_at("protocol");
    taken.ip = port.string_at("hostIP");
    if (taken.protocol.empty()) taken.protocol = "TCP";
    if (taken.ip.empty()) taken.ip = "0.0.0.0";
  }
}

// What containers of any kind ask of the node's kubelet.
struct KubeletWants {
  bool restart_all = false, bind_mount_options = false;

  template <class Document>
  void add(const Document& container) {
    for (const Document& rule : container.items_at("restartPolicyRules"))
      restart_all |= rule.string_at("action") == "RestartAllContainers";
    for (const Document& mount : container.items_at("volumeMounts"))
      bind_mount_options |= !strings_at(mount, "bindMountOptions").empty();
  }
};

template <class Document>
std::vector<std::string_view> required_features(const Document& spec, KubeletWants wants) {
  for (const Document& container : spec.items_at("ephemeralContainers")) wants.add(container);
  std::vector<std::string_view> features;
  if (wants.restart_all) features.push_back("RestartAllContainersOnContainerExits");
  if (spec.bool_at("hostNetwork") && has_member(spec, "hostUsers") && !spec.bool_at("hostUsers"))
    features.push_back("UserNamespacesHostNetworkSupport");
  if (wants.bind_mount_options) features.push_back("VolumeBindMountOptions");
  return features;
}

template <class Document>
void decode_containers(const Document& spec, Pod& pod) {
  KubeletWants wants;
  for (const Document& item : spec.items_at("containers")) {
    pod.containers.push_back(decode_container(item));
    decode_host_ports(item, pod.host_ports);
    wants.add(item);
  }
  for (const Document& item : spec.items_at("initContainers")) {
    pod.init_containers.push_back(decode_container(item));
    if (pod.init_containers.back().restartable_init) decode_host_ports(item, pod.host_ports);
    wants.add(item);
  }
  pod.required_features = required_features(spec, wants);
}

// None for a volume that is no claim.
template <class Document>
std::optional<PodVolume> decode_claim_volume(const Document& item, const std::string& pod_name) {
  const std::string name(item.string_at("name"));
  if (const auto claim = item.find("persistentVolumeClaim"))
    return PodVolume{name, std::string(claim->string_at("claimName")), false};
  if (has_member(item, "ephemeral")) return PodVolume{name, pod_name + "-" + name, true};
  return std::nullopt;
}

template <class Document>
Toleration toleration_of(const Document& item) {
  return {std::string(item.string_at("key")), std::string(item.string_at("operator")),
          std::string(item.string_at("value")), std::string(item.string_at("effect")),
          find_int(item, "tolerationSeconds")};
}

template <class Document>
Taint taint_of(const Document& item) {
  return {std::string(item.string_at("key")), std::string(item.string_at("value")),
          std::string(item.string_at("effect")), time_at(item, "timeAdded")};
}

// One that does not parse selects nothing: the API server has refused it.
template <class Document>
LabelSelector label_selector_at(const Document& term, std::string_view field) {
  return LabelSelector::of(json_at(term, field)).value_or(*LabelSelector::of(Json()));
}

// As the API server completes the selector when the pod is created. One that it has completed stays.
template <class Document>
void add_label_keys(const Document& item, std::string_view field, LabelOperator op, const StringMap& own,
                    LabelSelector& selector) {
  for (const std::string& key : strings_at(item, field)) {
    const auto& asked = selector.requirements();
    const bool completed = std::any_of(asked.begin(), asked.end(), [&](const LabelRequirement& one) {
      return one.key == key && one.op == op;
    });
    if (const auto label = own.find(key); label != own.end() && !completed)
      selector.also_requires(key, op, label->second);
  }
}

template <class Document>
PodAffinityTerm decode_affinity_term(const Document& item, const ObjectMeta& own) {
  PodAffinityTerm term;
  term.pods = label_selector_at(item, "labelSelector");
  add_label_keys(item, "matchLabelKeys", LabelOperator::In, own.labels, term.pods);
  add_label_keys(item, "mismatchLabelKeys", LabelOperator::NotIn, own.labels, term.pods);
  term.namespaces = strings_at(item, "namespaces");
  if (has_member(item, "namespaceSelector"))
    term.namespace_selector = label_selector_at(item, "namespaceSelector");
  else if (term.namespaces.empty())
    term.namespaces.push_back(own.ns);
  std::sort(term.namespaces.begin(), term.namespaces.end());
  term.topology_key = item.string_at("topologyKey");
  return term;
}

template <class Document>
void decode_pod_affinity(const Document& affinity, Pod& pod) {
  struct Row {
    std::string_view kind;
    std::vector<PodAffinityTerm>& required;
    std::int64_t sign;
  };
  for (const auto& [kind, required, sign] : {Row{"podAffinity", pod.required_affinity, 1},
                                             Row{"podAntiAffinity", pod.required_anti_affinity, -1}}) {
    const auto terms = affinity.find(kind);
    if (!terms) continue;
    for (const Document& item : terms->items_at("requiredDuringSchedulingIgnoredDuringExecution"))
      required.push_back(decode_affinity_term(item, pod.meta));
    for (const Document& item : terms->items_at("preferredDuringSchedulingIgnoredDuringExecution"))
      if (const auto term = item.find("podAffinityTerm"))
        pod.preferred_affinity.push_back(
            {sign * item.int_at("weight"), decode_affinity_term(*term, pod.meta)});
  }
}

template <class Document>
void decode_node_affinity(const Document& affinity, Pod& pod) {
  if (const auto required = affinity.find("requiredDuringSchedulingIgnoredDuringExecution"))
    pod.required_node_affinity = decode_node_selector(*required);
  for (const Document& item : affinity.items_at("preferredDuringSchedulingIgnoredDuringExecution"))
    if (const auto term = item.find("preference"))
      pod.preferred_nodes.push_back({item.int_at("weight"), {{decode_node_selector_term(*term)}}});
}

template <class Document>
SpreadConstraint decode_spread(const Document& item, const StringMap& own_labels) {
  SpreadConstraint constraint;
  constraint.topology_key = item.string_at("topologyKey");
  constraint.max_skew = item.int_at("maxSkew", 1);
  constraint.min_domains = item.int_at("minDomains", 1);
  constraint.pods = label_selector_at(item, "labelSelector");
  add_label_keys(item, "matchLabelKeys", LabelOperator::In, own_labels, constraint.pods);
  constraint.honors_affinity = item.string_at("nodeAffinityPolicy") != "Ignore";
  constraint.honors_taints = item.string_at("nodeTaintsPolicy") == "Honor";
  return constraint;
}

template <class Document>
void decode_constraints(const Document& spec, Pod& pod) {
  pod.node_selector = string_map_at(spec, "nodeSelector");
  if (const auto affinity = spec.find("affinity")) {
    if (const auto node = affinity->find("nodeAffinity")) decode_node_affinity(*node, pod);
    decode_pod_affinity(*affinity, pod);
  }
  for (const Document& item : spec.items_at("topologySpreadConstraints")) {
    const bool required = item.string_at("whenUnsatisfiable") == "DoNotSchedule";
    (required ? pod.required_spread : pod.preferred_spread).push_back(decode_spread(item, pod.meta.labels));
  }
  for (const Document& item : spec.items_at("tolerations")) pod.tolerations.push_back(toleration_of(item));
}

template <class Document>
void decode_spec(const Document& spec, Pod& pod) {
  pod.node_name = spec.string_at("nodeName");
  pod.scheduler_name = spec.string_at("schedulerName");
  pod.preemption_policy = spec.string_at("preemptionPolicy");
  pod.priority_class = spec.string_at("priorityClassName");
  pod.priority = static_cast<std::int32_t>(spec.int_at("priority"));
  pod.restart_policy = spec.string_at("restartPolicy");
  pod.termination_grace_s = spec.int_at("terminationGracePeriodSeconds", 30);
  decode_constraints(spec, pod);
  decode_containers(spec, pod);
  pod.overhead = resource_map_at(spec, "overhead");
  if (const auto resources = spec.find("resources")) {
    if (has_member(*resources, "requests")) pod.pod_level_requests = resource_map_at(*resources, "requests");
    if (has_member(*resources, "limits")) pod.pod_level_limits = resource_map_at(*resources, "limits");
  }
  for (const Document& item : spec.items_at("schedulingGates"))
    pod.scheduling_gates.emplace_back(item.string_at("name"));
  for (const Document& item : spec.items_at("resourceClaims"))
    pod.claims.push_back({std::string(item.string_at("name")),
                          std::string(item.string_at("resourceClaimName")),
                          std::string(item.string_at("resourceClaimTemplateName"))});
  for (const Document& item : spec.items_at("volumes")) {
    if (auto volume = decode_claim_volume(item, pod.meta.name)) pod.volumes.push_back(*std::move(volume));
    if (const auto image = item.find("image")) pod.image_volumes.emplace_back(image->string_at("reference"));
  }
  if (const auto group = spec.find("schedulingGroup")) pod.group = group->string_at("podGroupName");
}

// The pod is in the group that its labels name unless its spec names one.
void take_labels(Pod& pod) {
  if (!pod.group.empty()) return;
  std::optional<LabelledGroup> named = labelled_group(pod.meta);
  if (!named) return;
  pod.group = std::move(named->group);
  pod.group_source = named->source;
}

// Of the first container that has one GPU alone.
template <class Document>
std::string decode_only_gpu(const Document& status) {
  for (const Document& container : status.items_at("containerStatuses"))
    for (const Document& resource : container.items_at("allocatedResourcesStatus")) {
      if (resource.string_at("name") != kGpuResource) continue;
      const auto& devices = resource.items_at("resources");
      if (devices.size() == 1) return std::string(devices[0].string_at("resourceID"));
    }
  return "";
}

// An empty map counts as none, as it does for a client that reads protobuf.
template <class Document>
std::optional<ResourceMap> reported_at(const Document& status, std::string_view key) {
  ResourceMap amounts = resource_map_at(status, key);
  return amounts.empty() ? std::nullopt : std::optional(std::move(amounts));
}

template <class Document>
ReportedRequests decode_reported(const Document& status) {
  ReportedRequests reported;
  reported.allocated = reported_at(status, "allocatedResources");
  if (const auto resources = status.find("resources")) reported.actual = reported_at(*resources, "requests");
  return reported;
}

bool has_reports(const Pod& pod) {
  const auto has_report = [](const Container& container) { return container.reported != nullptr; };
  return pod.reported || std::ranges::any_of(pod.containers, has_report) ||
         std::ranges::any_of(pod.init_containers, has_report);
}

// Nearly every pod runs with what its spec asks for.
std::shared_ptr<const ReportedRequests> unless_as_asked(ReportedRequests reported, const ResourceMap& asked,
                                                        bool infeasible) {
  const bool as_asked = (!reported.allocated || *reported.allocated == asked) &&
                        (!reported.actual || *reported.actual == asked);
  if (as_asked && !infeasible) return nullptr;
  return std::make_shared<const ReportedRequests>(std::move(reported));
}

template <class Document>
void decode_resize(const Document& status, Pod& pod) {
  const Condition* pending = find_condition(pod.conditions, "PodResizePending");
  pod.resize_infeasible = pending && pending->reason == "Infeasible";
  for (const std::string_view kind : {"containerStatuses", "initContainerStatuses"})
    for (const Document& item : status.items_at(kind)) {
      const std::string_view name = item.string_at("name");
      for (auto* containers : {&pod.containers, &pod.init_containers})
        for (Container& container : *containers)
          if (container.name == name && !container.reported)
            container.reported =
                unless_as_asked(decode_reported(item), container.requests, pod.resize_infeasible);
    }
  if (has_member(status, "resources"))
    pod.reported = unless_as_asked(decode_reported(status), pod.pod_level_requests.value_or(ResourceMap()),
                                   pod.resize_infeasible || has_reports(pod));
}

template <class Document>
void decode_status(const Document& status, Pod& pod) {
  pod.phase = status.string_at("phase");
  pod.started = time_at(status, "startTime");
  pod.nominated_node = status.string_at("nominatedNodeName");
  pod.conditions = decode_conditions(status.items_at("conditions"));
  for (const Document& item : status.items_at("resourceClaimStatuses"))
    pod.claim_statuses.push_back(
        {std::string(item.string_at("name")), std::string(item.string_at("resourceClaimName"))});
  if (const auto extended = status.find("extendedResourceClaimStatus"))
    pod.extended_claim = extended->string_at("resourceClaimName");
  pod.only_gpu = decode_only_gpu(status);
  decode_resize(status, pod);
  constexpr std::string_view kNodeAllocatable = "nodeAllocatableResourceClaimStatuses";
  if (has_member(status, kNodeAllocatable))
    if (const Json claims = json_at(status, kNodeAllocatable); claims.is_array())
      pod.node_allocatable = decode_node_allocatable_claims(claims.as_array());
}

template <class Document>
Pod pod_of(const Document& object, RawPtr raw) {
  Pod pod = begin_decoded<Pod>(object, std::move(raw));
  if (const auto spec = object.find("spec")) decode_spec(*spec, pod);
  take_labels(pod);
  if (const auto status = object.find("status")) decode_status(*status, pod);
  return pod;
}

void add(ResourceMap& sum, const ResourceMap& more) {
  for (const auto& [name, quantity] : more) sum[name] += quantity;
}

void raise_to(ResourceMap& floor, const ResourceMap& other) {
  for (const auto& [name, quantity] : other) {
    Quantity& at = floor[name];
    at = std::max(at, quantity);
  }
}

// Containers that run side by side add up; an ordinary init container counts with the sidecars before it,
// where that is more. Each container that does not name the resource of a floor has that amount.
template <class AmountsOf>
ResourceMap sum_of_containers(const Pod& pod, AmountsOf amounts_of, const ResourceMap& floors = {}) {
  const auto count = [&](const Container& container, ResourceMap& sum) {
    const ResourceMap& amounts = amounts_of(container);
    add(sum, amounts);
    for (const auto& [name, floor] : floors)
      if (!amounts.contains(name)) sum[name] += floor;
  };
  ResourceMap running;
  for (const Container& container : pod.containers) count(container, running);
  ResourceMap sidecars, highest_init;
  for (const Container& container : pod.init_containers) {
    ResourceMap during = sidecars;
    count(container, during);
    raise_to(highest_init, during);
    if (container.restartable_init) count(container, sidecars);
  }
  add(running, sidecars);
  raise_to(running, highest_init);
  return running;
}

const ResourceMap& requests_of(const Container& container) {
  return container.requests;
}

ResourceMap asked_by_containers(const Pod& pod, const NodeAllocatableClaims& by_devices,
                                const ResourceMap& floors) {
  ResourceMap sum = sum_of_containers(pod, requests_of, floors);
  if (!by_devices.empty()) add(sum, amounts_of(by_devices));
  return sum;
}

struct NodeReport {
  ResourceMap allocated, actual;
};

// The kubelet counts devices in what it reports of the whole pod, and in what a container uses.
NodeReport report_of(const Pod& pod, const NodeAllocatableClaims& by_devices, const ResourceMap& floors) {
  if (pod.reported && pod.reported->allocated && pod.reported->actual)
    return {*pod.reported->allocated, *pod.reported->actual};
  static const ResourceMap kNone;
  const auto unreported = [&](const Container& container) -> const ResourceMap& {
    return pod.resize_infeasible ? kNone : container.requests;
  };
  const auto allocated = [&](const Container& container) -> const ResourceMap& {
    const ReportedRequests* told = container.reported.get();
    return told && told->allocated ? *told->allocated : unreported(container);
  };
  const auto actual = [&](const Container& container) -> const ResourceMap& {
    const ReportedRequests* told = container.reported.get();
    return told && told->actual ? *told->actual : allocated(container);
  };
  NodeReport report{sum_of_containers(pod, allocated, floors), sum_of_containers(pod, actual, floors)};
  if (!by_devices.empty()) add(report.allocated, amounts_of(by_devices));
  return report;
}

// The most of what the containers ask for, have been given and use; a resize that can never be does not
// count.
ResourceMap counted_of_containers(const Pod& pod, const NodeAllocatableClaims& by_devices,
                                  const ResourceMap& floors) {
  if (!pod.resize_infeasible && !has_reports(pod)) return asked_by_containers(pod, by_devices, floors);
  const NodeReport report = report_of(pod, by_devices, floors);
  ResourceMap most;
  if (!pod.resize_infeasible) most = asked_by_containers(pod, by_devices, floors);
  raise_to(most, report.actual);
  raise_to(most, report.allocated);
  return most;
}

ResourceMap counted_of_pod_level(const Pod& pod) {
  if (!pod.reported) return *pod.pod_level_requests;
  ResourceMap most;
  if (!pod.resize_infeasible) most = *pod.pod_level_requests;
  for (const auto* amounts : {&pod.reported->actual, &pod.reported->allocated})
    if (*amounts) raise_to(most, **amounts);
  return most;
}

bool has_pod_level(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

}  // namespace

bool PodAffinityTerm::means(std::string_view ns, const StringMap& labels,
                            const StringMap& namespace_labels) const {
  return (std::binary_search(namespaces.begin(), namespaces.end(), ns) ||
          (namespace_selector && namespace_selector->matches(namespace_labels))) &&
         pods.matches(labels);
}

bool is_decimal_integer(std::string_view text) {
  if (text == "0") return true;
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.front() != '0' && std::all_of(text.begin(), text.end(), is_digit);
}

std::string to_text(const Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  if (toleration.op == "Gt" || toleration.op == "Lt") {
    if (!is_decimal_integer(toleration.value) || !is_decimal_integer(taint.value)) return false;
    const auto bound = to_int(toleration.value), value = to_int(taint.value);
    if (!bound || !value) return false;
    return toleration.op == "Gt" ? *value > *bound : *value < *bound;
  }
  return (toleration.op.empty() || toleration.op == "Equal") && !toleration.key.empty() &&
         toleration.value == taint.value;
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return tolerates(toleration, taint); });
}

ResourceMap container_requests(const Pod& pod, const NodeAllocatableClaims& by_devices) {
  return asked_by_containers(pod, by_devices, {});
}

ResourceMap container_limits(const Pod& pod) {
  return sum_of_containers(pod,
                           [](const Container& container) -> const ResourceMap& { return container.limits; });
}

ResourceMap effective_requests(const Pod& pod, const NodeAllocatableClaims& by_devices,
                               const ResourceMap& floors) {
  ResourceMap sum = counted_of_containers(pod, by_devices, floors);
  if (pod.pod_level_requests)
    for (const auto& [name, quantity] : counted_of_pod_level(pod))
      if (has_pod_level(name)) sum[name] = quantity;
  add(sum, pod.overhead);
  return sum;
}

bool counts_differently(const Pod& before, const Pod& after) {
  const bool may_differ = before.meta.generation != after.meta.generation || before.resize_infeasible ||
                          after.resize_infeasible || has_reports(before) || has_reports(after);
  return may_differ && effective_requests(before) != effective_requests(after);
}

std::string claim_object_name(const Pod& pod, const PodClaim& claim) {
  if (!claim.claim_name.empty()) return claim.claim_name;
  for (const PodClaimStatus& status : pod.claim_statuses)
    if (status.name == claim.name) return status.claim_name;
  return "";
}

bool needs_no_claim(const Pod& pod, const PodClaim& claim) {
  return std::any_of(pod.claim_statuses.begin(), pod.claim_statuses.end(), [&](const PodClaimStatus& status) {
    return status.name == claim.name && status.claim_name.empty();
  });
}

bool is_resize_deferred(const Pod& pod) {
  const Condition* pending = find_condition(pod.conditions, "PodResizePending");
  return pending && pending->reason == "Deferred";
}

Toleration decode_toleration(const Json& item) {
  return toleration_of(item);
}
Toleration decode_toleration(const ProtobufDocument& item) {
  return toleration_of(item);
}

Taint decode_taint(const Json& item) {
  return taint_of(item);
}
Taint decode_taint(const ProtobufDocument& item) {
  return taint_of(item);
}

Pod decode_pod(const Json& object, RawPtr raw) {
  return pod_of(object, std::move(raw));
}
Pod decode_pod(const ProtobufDocument& object, RawPtr raw) {
  return pod_of(object, std::move(raw));
}

Json to_json(const Toleration& toleration) {
  Json json = Json::object();
  if (!toleration.key.empty()) json["key"] = toleration.key;
  if (!toleration.op.empty()) json["operator"] = toleration.op;
  if (!toleration.value.empty()) json["value"] = toleration.value;
  if (!toleration.effect.empty()) json["effect"] = toleration.effect;
  if (toleration.seconds) json["tolerationSeconds"] = *toleration.seconds;
  return json;
}

}  // namespace berth::api
