#include "api/kinds/pod.h"

#include <algorithm>
#include <set>

#include "api/gates_fields.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/network_address.h"
#include "api/kinds/scheduling_parts.h"
#include "api/kinds/stored_kinds.h"
#include "api/types/meta.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";
constexpr int kDefaultTolerationSeconds = 300;
constexpr std::int64_t kDeadlineSecondsMax = 2147483647;
constexpr std::string_view kPriorityClasses = "priorityclasses.scheduling.k8s.io";

// The default reaction of a pod to an absent kubelet: eviction after five minutes.
void add_default_toleration(Json& spec, std::string_view key) {
  put_default(spec, core_type("PodSpec"), "tolerations", Json::array());
  JsonArray& tolerations = items(spec, "tolerations");
  for (const Json& toleration : tolerations) {
    const std::string_view effect = toleration.string_at("effect");
    const bool covers = toleration.string_at("key") == key || toleration.string_at("key").empty();
    if (covers && (effect.empty() || effect == "NoExecute")) return;
  }
  tolerations.push_back(Json::object({{"key", key},
                                      {"operator", "Exists"},
                                      {"effect", "NoExecute"},
                                      {"tolerationSeconds", kDefaultTolerationSeconds}}));
}

struct Priority {
  std::int64_t value = 0;
  std::string class_name;
  std::string preemption_policy = "PreemptLowerPriority";
};

constexpr std::pair<std::string_view, std::int64_t> kSystemClasses[] = {
    {"system-node-critical", 2'000'001'000}, {"system-cluster-critical", 2'000'000'000}};

Priority of_class(const Json& object) {
  Priority priority;
  priority.value = object.int_at("value");
  priority.class_name = object.find("metadata")->string_at("name");
  if (const std::string_view policy = object.string_at("preemptionPolicy"); !policy.empty())
    priority.preemption_policy = policy;
  return priority;
}

// Of several defaults the lowest value wins.
Priority global_default(const RuleContext& ctx) {
  std::optional<Priority> found;
  for (const Json& object : ctx.list(kPriorityClasses, kIsGlobalDefault))
    if (object.bool_at("globalDefault") && (!found || object.int_at("value") < found->value))
      found = of_class(object);
  return found ? *found : Priority();
}

std::optional<Priority> priority_of(const Json& spec, const RuleContext& ctx) {
  const std::string_view name = spec.string_at("priorityClassName");
  if (name.empty()) return global_default(ctx);
  if (const auto object = ctx.read(kPriorityClasses, "", name)) return of_class(*object);
  const auto* system = std::find_if(std::begin(kSystemClasses), std::end(kSystemClasses),
                                    [&](const auto& row) { return row.first == name; });
  if (system == std::end(kSystemClasses)) return std::nullopt;
  Priority priority;
  priority.value = system->second;
  priority.class_name = name;
  return priority;
}

// Of a pod that is created with its node.
void label_by_node(Json& pod, const RuleContext& ctx) {
  const std::string_view node = pod.part("spec").string_at("nodeName");
  if (node.empty() || !ctx.read) return;
  const std::optional<Json> found = ctx.read("nodes", "", node);
  const Json labels = found ? topology_labels_of(*found) : Json();
  if (labels.is_null()) return;
  Json& metadata = pod["metadata"];
  put_default(metadata, table_type("meta.k8s.io", "v1", "ObjectMeta"), "labels", Json::object());
  for (const JsonMember& label : labels.as_object()) metadata["labels"][label.key] = label.value;
}

std::optional<Rejection> admit_create(Json& pod, const RuleContext& ctx) {
  label_by_node(pod, ctx);
  if (auto refused = admit_account(pod, ctx)) return refused;
  static const TypeInfo& type = core_type("PodSpec");
  const auto refuse = [](std::string message) { return Rejection{403, "Forbidden", std::move(message)}; };
  Json& spec = pod["spec"];
  const std::optional<Priority> priority = priority_of(spec, ctx);
  if (!priority)
    return refuse("no PriorityClass with name " + std::string(spec.string_at("priorityClassName")) +
                  " was found");
  if (const Json* asked = present(spec, "priority"); asked && asked->as_int() != priority->value)
    return refuse("the integer value of priority (" + std::to_string(asked->as_int()) +
                  ") must not be provided in pod spec; priority admission controller computed " +
                  std::to_string(priority->value) + " from the given PriorityClass name");
  const std::string_view policy = spec.string_at("preemptionPolicy");
  if (!policy.empty() && policy != priority->preemption_policy)
    return refuse("the string value of PreemptionPolicy (" + std::string(policy) +
                  ") must not be provided in pod spec; priority admission controller computed " +
                  priority->preemption_policy + " from the given PriorityClass name");
  add_default_toleration(spec, kNotReady);
  add_default_toleration(spec, kUnreachable);
  if (!priority->class_name.empty()) put(spec, type, "priorityClassName", priority->class_name);
  put(spec, type, "priority", priority->value);
  put(spec, type, "preemptionPolicy", priority->preemption_policy);
  if (auto refused = admit_runtime_class(pod, ctx)) return refused;
  return admit_limits(pod, ctx);
}

// Every write of a pod passes this: defaults that were set once are restored when a patch omits them.
std::optional<Rejection> admit_update(Json& next, const Json& old, const RuleContext& ctx) {
  static const TypeInfo& type = core_type("PodSpec");
  Json& spec = next["spec"];
  add_default_toleration(spec, kNotReady);
  add_default_toleration(spec, kUnreachable);
  for (std::string_view key : {"priority", "preemptionPolicy"})
    if (const Json* given = present_at(old, {"spec", key}); given && !present(spec, key))
      put(spec, type, key, *given);
  return ctx.subresource == "ephemeralcontainers" ? admit_ephemeral_secrets(next, ctx) : std::nullopt;
}

Json gated_condition(Time now) {
  return Json::object({{"type", "PodScheduled"},
                       {"status", "False"},
                       {"lastProbeTime", Json()},
                       {"lastTransitionTime", format_time(now)},
                       {"reason", "SchedulingGated"},
                       {"message", "Scheduling is blocked due to non-empty scheduling gates"}});
}

void prepare_create(Json& pod, const RuleContext& ctx) {
  static const TypeInfo& type = core_type("Pod");
  Json& spec = pod["spec"];
  Json status = Json::object({{"phase", "Pending"}});
  if (!items(&spec, "schedulingGates").empty())
    status["conditions"] = Json::array({gated_condition(ctx.now)});
  status["qosClass"] = qos_class_of(pod);
  put(pod, type, "status", std::move(status));
  drop_gated_fields(type, pod, nullptr, ctx.gates);
}

// Through "resize" only resources may change, through "ephemeralcontainers" only those: the rest stays.
void keep_all_but(Json& next, const Json& old, std::string_view subresource) {
  static const TypeInfo& spec_type = core_type("PodSpec");
  static const TypeInfo& container_type = core_type("Container");
  Json kept = old;
  Json& spec = kept["spec"];
  const Json* asked = present(next, "spec");
  if (subresource == "ephemeralcontainers") {
    if (const Json* list = present(asked, "ephemeralContainers"))
      put(spec, spec_type, "ephemeralContainers", *list);
  } else {
    for (std::string_view list : {"containers", "initContainers"}) {
      const NamedItems resized(items(asked, list), "name");
      for (Json& container : items(spec, list))
        if (const Json* wanted = resized.find(container.string_at("name")))
          put(container, container_type, "resources", value_or_null(wanted->find("resources")));
    }
  }
  next["spec"] = std::move(spec);
}

void prepare_update(Json& next, const Json& old, const RuleContext& ctx) {
  if (ctx.subresource == "ephemeralcontainers" || ctx.subresource == "resize")
    return keep_all_but(next, old, ctx.subresource);
  drop_gated_fields(core_type("Pod"), next, &old, ctx.gates);
}

// Metadata may change through the status subresource; the spec and the owners may not.
void prepare_status_update(Json& next, const Json& old, const RuleContext& ctx) {
  const Json* spec = old.find("spec");
  if (spec && !same(next.find("spec"), spec)) next["spec"] = *spec;
  Json& metadata = next["metadata"];
  const Json* owners = present_at(old, {"metadata", "ownerReferences"});
  if (!same(present(metadata, "ownerReferences"), owners)) {
    if (owners)
      put(metadata, table_type("meta.k8s.io", "v1", "ObjectMeta"), "ownerReferences", *owners);
    else
      metadata.as_object().erase("ownerReferences");
  }
  static const TypeInfo& pod_type = core_type("Pod");
  drop_gated_fields(pod_type, next, &old, ctx.gates);
  const Json* qos = present_at(old, {"status", "qosClass"});
  if (!qos) return;
  static const TypeInfo& status_type = core_type("PodStatus");
  put_default(next, pod_type, "status", Json::object());
  put(*present(next, "status"), status_type, "qosClass", *qos);
}

FieldErrors check_claims(const FieldPath& path, const JsonArray& claims, std::string_view pod_name) {
  static const TypeInfo& type = core_type("PodResourceClaim");
  constexpr std::string_view kNames[] = {"resourceClaimName", "resourceClaimTemplateName"};
  FieldErrors errors;
  const NamedItems by_name(claims, "name");
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const FieldPath at = path.index(i);
    const Json& claim = claims[i];
    const std::string_view name = claim.string_at("name");
    const Json* claim_name = present(claim, kNames[0]);
    const Json* template_name = present(claim, kNames[1]);
    if (name.empty()) {
      errors.push_back(required(at.child("name")));
    } else if (by_name.is_repeated(claim)) {
      errors.push_back(duplicate(at.child("name"), name));
    } else {
      FieldErrors found = check_format(at.child("name"), name, dns_label_problems);
      const std::string made = std::string(pod_name) + "-" + std::string(name);
      if (found.empty() && template_name && !pod_name.empty())
        for (const std::string& problem : dns_subdomain_problems(made))
          found.push_back(invalid(at.child("name"), made, "final ResourceClaim to be created: " + problem));
      append(errors, std::move(found));
    }
    if (claim_name && template_name)
      errors.push_back(
          invalid(at, go_form(claim, type),
                  "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"));
    if (!claim_name && !template_name)
      errors.push_back(invalid(at, go_form(claim, type),
                               "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    for (std::string_view key : kNames)
      if (const Json* object = present(claim, key))
        append(errors, check_format(at.child(key), object->as_string(), dns_subdomain_problems));
  }
  return errors;
}

FieldErrors check_gates(const FieldPath& path, const JsonArray& gates) {
  FieldErrors errors;
  const NamedItems by_name(gates, "name");
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const std::string_view name = gates[i].string_at("name");
    append(errors, check_format(path.index(i), name, qualified_name_problems));
    if (by_name.is_repeated(gates[i])) errors.push_back(duplicate(path.index(i), name));
  }
  return errors;
}

FieldErrors check_group(const FieldPath& path, const Json& group) {
  const FieldPath at = path.child("podGroupName");
  const Json* name = present(group, "podGroupName");
  if (!name) return {invalid(at, nullptr, "must specify one of: `podGroupName`")};
  return check_format(at, name->as_string(), dns_subdomain_problems);
}

// In the reference's order of validation: of two sources, the later one is refused.
constexpr std::string_view kVolumeSources[] = {"emptyDir",
                                               "hostPath",
                                               "gitRepo",
                                               "gcePersistentDisk",
                                               "awsElasticBlockStore",
                                               "secret",
                                               "nfs",
                                               "iscsi",
                                               "glusterfs",
                                               "flocker",
                                               "persistentVolumeClaim",
                                               "rbd",
                                               "cinder",
                                               "cephfs",
                                               "quobyte",
                                               "downwardAPI",
                                               "fc",
                                               "flexVolume",
                                               "configMap",
                                               "azureFile",
                                               "vsphereVolume",
                                               "photonPersistentDisk",
                                               "portworxVolume",
                                               "azureDisk",
                                               "storageos",
                                               "projected",
                                               "scaleIO",
                                               "csi",
                                               "ephemeral",
                                               "image"};

// For how long a projected certificate may live: an hour to 91 days, of Kubernetes' own signers a day.
FieldErrors check_certificates(const FieldPath& path, const JsonArray& sources) {
  constexpr std::int64_t kLeast = 3600, kMost = 91 * 24 * 3600, kMostOfKubernetes = 24 * 3600;
  FieldErrors errors;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Json* seconds = present_at(sources[i], {"podCertificate", "maxExpirationSeconds"});
    if (!seconds) continue;
    const FieldPath at = path.index(i).child("podCertificate").child("maxExpirationSeconds");
    const std::string_view signer = sources[i].part("podCertificate").string_at("signerName");
    const std::string_view host = signer.substr(0, signer.find("/"));
    const bool of_kubernetes = host == "kubernetes.io" || host.ends_with(".kubernetes.io");
    const std::int64_t most = of_kubernetes ? kMostOfKubernetes : kMost;
    if (seconds->as_int() < kLeast)
      errors.push_back(invalid(at, *seconds, "if provided, maxExpirationSeconds must be >= 3600"));
    if (seconds->as_int() > most)
      errors.push_back(
          invalid(at, *seconds, "if provided, maxExpirationSeconds must be <= " + std::to_string(most)));
  }
  return errors;
}

// A volume has exactly one source; of the contents of the source only certificates and the names of CSI
// drivers are validated.
FieldErrors check_volumes(const FieldPath& path, const JsonArray& volumes) {
  FieldErrors errors;
  const NamedItems by_name(volumes, "name");
  for (std::size_t i = 0; i < volumes.size() && !errors.full(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = volumes[i].string_at("name");
    append(errors, check_required(at.child("name"), name, dns_label_problems));
    if (!name.empty() && by_name.is_repeated(volumes[i])) errors.push_back(duplicate(at.child("name"), name));
    bool any = false;
    for (std::string_view source : kVolumeSources) {
      if (!present(volumes[i], source)) continue;
      if (any) errors.push_back(forbidden(at.child(source), "may not specify more than 1 volume type"));
      any = true;
    }
    if (!any) errors.push_back(required(at, "must specify a volume type"));
    if (const Json* projected = present(volumes[i], "projected"))
      append(errors, check_certificates(at.child("projected").child("sources"), items(projected, "sources")));
    if (const Json* csi = present(volumes[i], "csi"))
      append(errors, check_csi_driver(at.child("csi").child("driver"), csi->string_at("driver")));
  }
  return errors;
}

FieldErrors check_sysctls(const FieldPath& path, const Json& spec) {
  constexpr std::size_t kSysctlBytesMax = 253;
  const auto problems = [](std::string_view name) -> NameProblems {
    const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    bool fits = name.size() <= kSysctlBytesMax, begins = true;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool divides = name[i] == '.' || name[i] == '/';
      const bool ends = i + 1 == name.size() || name[i + 1] == '.' || name[i + 1] == '/';
      fits &= divides ? !begins && i + 1 < name.size()
                      : inner(name[i]) || (!begins && !ends && (name[i] == '-' || name[i] == '_'));
      begins = divides;
    }
    if (fits) return {};
    return {
        "must have at most 253 characters and match regex "
        "^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([\\./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$"};
  };
  FieldErrors errors;
  const JsonArray& sysctls = spec.part("securityContext").items_at("sysctls");
  const NamedItems by_name(sysctls, "name");
  for (std::size_t i = 0; i < sysctls.size() && !errors.full(); ++i) {
    const FieldPath at = path.child("securityContext").child("sysctls").index(i).child("name");
    const std::string_view name = sysctls[i].string_at("name");
    FieldErrors found;
    if (name.empty())
      found.push_back(required(at));
    else
      found = check_format(at, name, problems);
    if (found.empty() && by_name.is_repeated(sysctls[i])) found.push_back(duplicate(at, name));
    append(errors, std::move(found));
  }
  return errors;
}

// Ports of a pod on its node's network are those of the node. A template may leave that to the pod's
// defaults.
FieldErrors check_host_ports(const FieldPath& path, const Json& spec, bool is_pod) {
  FieldErrors errors;
  if (!spec.bool_at("hostNetwork")) return errors;
  const JsonArray& containers = items(&spec, "containers");
  for (std::size_t i = 0; i < containers.size() && !errors.full(); ++i) {
    const JsonArray& ports = items(&containers[i], "ports");
    for (std::size_t k = 0; k < ports.size(); ++k) {
      const std::int64_t host = ports[k].int_at("hostPort");
      if ((is_pod || host != 0) && host != ports[k].int_at("containerPort"))
        errors.push_back(invalid(path.child("containers").index(i).child("ports").index(k).child("hostPort"),
                                 host, "must match `containerPort` when `hostNetwork` is true"));
    }
  }
  return errors;
}

// A subdomain whose labels may have underscores, but at their end.
NameProblems dns_search_problems(std::string_view text) {
  NameProblems problems;
  if (text.size() > kDnsSubdomainBytesMax) problems.push_back(too_long_problem(kDnsSubdomainBytesMax));
  std::string plain;
  bool begins = true;
  for (const char c : text) {
    if (begins && c == '_') {
      begins = false;
      continue;  // one at the beginning of a label
    }
    plain += c == '_' ? '-' : c;
    begins = c == '.';
  }
  if (!dns_subdomain_problems(plain.substr(0, kDnsSubdomainBytesMax)).empty())
    problems.emplace_back(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
        "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
        "validation "
        "is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')");
  return problems;
}

constexpr std::size_t kNameserversMax = 3, kSearchesMax = 32, kSearchBytesMax = 2048;

FieldErrors check_searches(const FieldPath& path, const Json& config) {
  FieldErrors errors;
  const JsonArray& searches = items(&config, "searches");
  if (searches.size() > kSearchesMax)
    errors.push_back(
        invalid(path, searches, "must not have more than " + std::to_string(kSearchesMax) + " search paths"));
  std::size_t bytes = searches.empty() ? 0 : searches.size() - 1;
  for (const Json& search : searches) bytes += search.as_string().size();
  if (bytes > kSearchBytesMax)
    errors.push_back(invalid(path, searches,
                             "must not have more than " + std::to_string(kSearchBytesMax) +
                                 " characters (including spaces) in the search list"));
  for (std::size_t i = 0; i < searches.size() && !errors.full(); ++i) {
    std::string_view search = searches[i].as_string();
    if (search == ".") continue;
    if (search.ends_with('.')) search.remove_suffix(1);
    append(errors, check_format(path.index(i), search, dns_search_problems));
  }
  return errors;
}

FieldErrors check_dns(const FieldPath& path, const Json& spec) {
  const Json* config = present(spec, "dnsConfig");
  const JsonArray& servers = items(config, "nameservers");
  if (spec.string_at("dnsPolicy") == "None") {
    if (!config) return {required(path, "must provide `dnsConfig` when `dnsPolicy` is None")};
    if (servers.empty())
      return {required(path.child("nameservers"),
                       "must provide at least one DNS nameserver when `dnsPolicy` is None")};
  }
  if (!config) return {};
  FieldErrors errors;
  if (servers.size() > kNameserversMax)
    errors.push_back(invalid(path.child("nameservers"), servers,
                             "must not have more than " + std::to_string(kNameserversMax) + " nameservers"));
  for (std::size_t i = 0; i < servers.size() && !errors.full(); ++i)
    append(errors,
           check_format(path.child("nameservers").index(i), servers[i].as_string(), address_problems));
  append(errors, check_searches(path.child("searches"), *config));
  const JsonArray& options = items(config, "options");
  for (std::size_t i = 0; i < options.size(); ++i)
    if (options[i].string_at("name").empty())
      errors.push_back(required(path.child("options").index(i), "must not be empty"));
  return errors;
}

// Of those that are given.
FieldErrors check_names(const FieldPath& path, const Json& spec,
                        std::initializer_list<std::string_view> names,
                        NameProblems (*problems)(std::string_view)) {
  FieldErrors errors;
  for (std::string_view name : names)
    if (const std::string_view text = spec.string_at(name); !text.empty())
      append(errors, check_format(path.child(name), text, problems));
  return errors;
}

FieldErrors check_aliases(const FieldPath& path, const JsonArray& aliases) {
  FieldErrors errors;
  for (std::size_t i = 0; i < aliases.size() && !errors.full(); ++i) {
    append(errors, check_format(path.index(i).child("ip"), aliases[i].string_at("ip"), address_problems));
    const JsonArray& names = items(&aliases[i], "hostnames");
    for (std::size_t k = 0; k < names.size() && !errors.full(); ++k)
      append(errors, check_format(path.index(i).child("hostnames").index(k), names[k].as_string(),
                                  dns_subdomain_problems));
  }
  return errors;
}

FieldErrors check_enums(const FieldPath& path, const Json& spec) {
  FieldErrors errors = check_one_of(path.child("restartPolicy"), spec.string_at("restartPolicy"),
                                    {"Always", "OnFailure", "Never"});
  append(errors, check_one_of(path.child("dnsPolicy"), spec.string_at("dnsPolicy"),
                              {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"}));
  append(errors, check_labels(path.child("nodeSelector"), present(spec, "nodeSelector")));
  return errors;
}

FieldErrors validate_create(const Json& pod, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = *present(pod, "spec");
  FieldErrors errors = check_pod_spec(path, spec, pod.find("metadata")->string_at("name"));
  append(errors, check_images(path, spec));
  if (!spec.string_at("nodeName").empty() && !items(&spec, "schedulingGates").empty())
    errors.push_back(
        forbidden(path.child("nodeName"), "cannot be set until all schedulingGates have been cleared"));
  return errors;
}

bool has_both(const ResourceMap& amounts) {
  return amounts.count("cpu") > 0 && amounts.count("memory") > 0;
}

ResourceMap amounts_of(const Json& container, std::string_view which) {
  ResourceMap amounts;
  for (auto& [name, quantity] : decode_resource_map(present_at(container, {"resources", which})))
    if ((name == "cpu" || name == "memory") && !quantity.is_zero()) amounts.emplace(name, quantity);
  return amounts;
}

}  // namespace

FieldErrors check_pod_spec(const FieldPath& path, const Json& spec, std::string_view pod_name) {
  FieldErrors errors = check_volumes(path.child("volumes"), items(&spec, "volumes"));
  append(errors, check_claims(path.child("resourceClaims"), items(&spec, "resourceClaims"), pod_name));
  if (items(&spec, "containers").empty()) errors.push_back(required(path.child("containers")));
  for (std::string_view list : {"containers", "initContainers", "ephemeralContainers"})
    append(errors, check_containers(path, spec, list));
  append(errors, check_host_ports(path, spec, !pod_name.empty()));
  append(errors, check_enums(path, spec));
  append(errors, check_sysctls(path, spec));
  if (const Json* affinity = present(spec, "affinity"))
    append(errors, check_affinity(path.child("affinity"), *affinity));
  append(errors, check_dns(path.child("dnsConfig"), spec));
  append(errors, check_gates(path.child("schedulingGates"), items(&spec, "schedulingGates")));
  append(errors,
         check_spread(path.child("topologySpreadConstraints"), items(&spec, "topologySpreadConstraints")));
  append(errors, check_names(path, spec, {"serviceAccountName", "nodeName"}, dns_subdomain_problems));
  const Json* deadline = present(spec, "activeDeadlineSeconds");
  if (deadline && (deadline->as_int() < 1 || deadline->as_int() > kDeadlineSecondsMax))
    errors.push_back(invalid(path.child("activeDeadlineSeconds"), *deadline,
                             "must be between 1 and 2147483647, inclusive"));
  append(errors, check_names(path, spec, {"hostname", "subdomain"}, dns_label_problems));
  append(errors, check_pod_tolerations(path.child("tolerations"), items(&spec, "tolerations")));
  append(errors, check_aliases(path.child("hostAliases"), items(&spec, "hostAliases")));
  append(errors, check_names(path, spec, {"priorityClassName", "runtimeClassName"}, dns_subdomain_problems));
  if (const std::string_view policy = spec.string_at("preemptionPolicy"); !policy.empty())
    append(errors, check_one_of(path.child("preemptionPolicy"), policy, {"PreemptLowerPriority", "Never"}));
  for (const JsonMember& member : entries(present(spec, "overhead")))
    append(errors,
           check_amount(path.child("overhead").key(member.key), member.key, member.value.as_string()));
  if (const Json* group = present(spec, "schedulingGroup"))
    append(errors, check_group(path.child("schedulingGroup"), *group));
  return errors;
}

std::string_view qos_class_of(const Json& pod) {
  const Json* spec = present(pod, "spec");
  bool any = false;
  bool guaranteed = true;
  for (const char* list : {"containers", "initContainers"})
    for (const Json& container : items(spec, list)) {
      const ResourceMap requests = amounts_of(container, "requests");
      const ResourceMap limits = amounts_of(container, "limits");
      any |= !requests.empty() || !limits.empty();
      guaranteed &= has_both(limits) && requests == limits;
    }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

Json topology_labels_of(const Json& node) {
  Json labels;
  for (std::string_view name : {"region", "zone"}) {
    const std::string key = std::string(kTopologyLabelPrefix) + std::string(name);
    const Json* value = node.part("metadata").part("labels").find(key);
    if (!value) continue;
    if (labels.is_null()) labels = Json::object();
    labels[key] = *value;
  }
  return labels;
}

KindRules pod_rules() {
  KindRules rules;
  rules.resource = "pods";
  rules.has_generation = true;
  rules.answers_deleted_object = true;
  rules.set_defaults = set_pod_defaults;
  rules.admit_create = admit_create;
  rules.admit_update = admit_update;
  rules.prepare_create = prepare_create;
  rules.prepare_update = prepare_update;
  rules.prepare_status_update = prepare_status_update;
  rules.warnings = pod_warnings;
  rules.validate_create = validate_create;
  rules.validate_update = validate_pod_update;
  rules.validate_status_update = validate_pod_status_update;
  return rules;
}

}  // namespace berth::api
