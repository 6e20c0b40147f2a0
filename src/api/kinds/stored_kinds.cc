// Kinds that are only stored: how their storage treats writes, and their defaults.
//
// Source: the strategies (registry/*/strategy.go) and defaults.go of Kubernetes 1.37, as tests/cluster/parity
// observes them.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"
#include "api/kinds/stored_kinds.h"
#include "api/kinds/workload_kinds.h"
#include "api/types/volumes.h"

namespace berth::api {
namespace {

enum StorageTrait : unsigned {
  kGeneration = 1,      // has_generation
  kNeedsVersion = 2,    // needs_version_on_update
  kPutCreates = 4,      // create_on_update
  kAnswersDeleted = 8,  // answers_deleted_object
  kPathSegment = 16,    // names are NameRule::PathSegment
  kPlainFinalizers = 32,
};

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kWebhookGroup = "admissionregistration.k8s.io";
constexpr int kWebhookSeconds = 10;
constexpr int kWebhookPort = 443;

void set_pod_template_defaults(Json& object) {
  set_template_defaults(object);
}

// The selector and the labels are those of the template unless given.
void set_replication_controller_defaults(Json& controller) {
  static const TypeInfo& spec_type = core_type("ReplicationControllerSpec");
  Json* spec = present(controller, "spec");
  if (!spec) return;
  put_default(*spec, spec_type, "replicas", 1);
  set_template_defaults(*spec);
  const Json* labels = present_at(std::as_const(*spec), {"template", "metadata", "labels"});
  if (entries(labels).empty()) return;
  const Json own = *labels;
  if (entries(present(std::as_const(*spec), "selector")).empty()) put(*spec, spec_type, "selector", own);
  Json& metadata = controller["metadata"];
  if (entries(present(std::as_const(metadata), "labels")).empty())
    put(metadata, table_type("meta.k8s.io", "v1", "ObjectMeta"), "labels", own);
}

void set_rule_scopes(Json& webhook) {
  static const TypeInfo& rule_type = table_type(kWebhookGroup, "v1", "RuleWithOperations");
  static const TypeInfo& service_type = table_type(kWebhookGroup, "v1", "ServiceReference");
  for (Json& rule : items(webhook, "rules")) put_default(rule, rule_type, "scope", "*");
  if (Json* service = present_at(webhook, {"clientConfig", "service"}))
    put_default(*service, service_type, "port", kWebhookPort);
}

void set_webhook_defaults(Json& webhook, const TypeInfo& type) {
  put_default(webhook, type, "failurePolicy", "Fail");
  put_default(webhook, type, "matchPolicy", "Equivalent");
  put_default(webhook, type, "namespaceSelector", Json::object());
  put_default(webhook, type, "objectSelector", Json::object());
  put_default(webhook, type, "timeoutSeconds", kWebhookSeconds);
  set_rule_scopes(webhook);
}

void set_validating_webhook_defaults(Json& configuration) {
  static const TypeInfo& type = table_type(kWebhookGroup, "v1", "ValidatingWebhook");
  for (Json& webhook : items(configuration, "webhooks")) set_webhook_defaults(webhook, type);
}

void set_mutating_webhook_defaults(Json& configuration) {
  static const TypeInfo& type = table_type(kWebhookGroup, "v1", "MutatingWebhook");
  for (Json& webhook : items(configuration, "webhooks")) {
    set_webhook_defaults(webhook, type);
    put_default(webhook, type, "reinvocationPolicy", "Never");
  }
}

void set_csi_driver_defaults(Json& driver) {
  static const TypeInfo& type = table_type("storage.k8s.io", "v1", "CSIDriverSpec");
  Json* spec = present(driver, "spec");
  if (!spec) return;
  put_default(*spec, type, "attachRequired", true);
  put_default(*spec, type, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  if (items(*spec, "volumeLifecycleModes").empty())
    put(*spec, type, "volumeLifecycleModes", Json::array({"Persistent"}));
  for (std::string_view key : {"podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount",
                               "preventPodSchedulingIfMissing"})
    put_default(*spec, type, key, false);
}

void default_protocol(Json& port, const TypeInfo& type) {
  put_default(port, type, "protocol", "TCP");
}

void set_endpoints_defaults(Json& endpoints) {
  static const TypeInfo& type = core_type("EndpointPort");
  for (Json& subset : items(endpoints, "subsets"))
    for (Json& port : items(subset, "ports")) default_protocol(port, type);
}

void set_endpoint_slice_defaults(Json& slice) {
  static const TypeInfo& type = table_type("discovery.k8s.io", "v1", "EndpointPort");
  for (Json& port : items(slice, "ports")) {
    put_default(port, type, "name", "");
    default_protocol(port, type);
  }
}

void set_ingress_class_defaults(Json& ingress_class) {
  static const TypeInfo& type = table_type("networking.k8s.io", "v1", "IngressClassParametersReference");
  if (Json* parameters = present_at(ingress_class, {"spec", "parameters"}))
    put_default(*parameters, type, "scope", "Cluster");
}

void set_network_policy_defaults(Json& policy) {
  static const TypeInfo& type = table_type("networking.k8s.io", "v1", "NetworkPolicySpec");
  static const TypeInfo& port_type = table_type("networking.k8s.io", "v1", "NetworkPolicyPort");
  static const TypeInfo& policy_type = table_type("networking.k8s.io", "v1", "NetworkPolicy");
  put_default(policy, policy_type, "spec", Json::object());
  Json& spec = *present(policy, "spec");
  for (std::string_view way : {"ingress", "egress"})
    for (Json& rule : items(spec, way))
      for (Json& port : items(rule, "ports")) default_protocol(port, port_type);
  if (!items(spec, "policyTypes").empty()) return;
  JsonArray ways = {Json("Ingress")};
  if (!items(spec, "egress").empty()) ways.emplace_back("Egress");
  put(spec, type, "policyTypes", std::move(ways));
}

FieldErrors check_policy_port(const FieldPath& at, const Json& port) {
  FieldErrors errors;
  const Json *first = present(port, "port"), *last = present(port, "endPort");
  const auto refuse = [&](std::string_view why) {
    errors.push_back(invalid(at.child("endPort"), *last, why));
  };
  if (const std::string_view protocol = port.string_at("protocol"); !protocol.empty())
    append(errors, check_one_of(at.child("protocol"), protocol, {"TCP", "UDP", "SCTP"}));
  if (!first) {
    if (last) refuse("may not be specified when `port` is not specified");
  } else if (first->is_int()) {
    append(errors, check_port(at.child("port"), first->as_int()));
    if (last && last->as_int() < first->as_int()) refuse("must be greater than or equal to `port`");
    if (last) append(errors, check_port(at.child("endPort"), last->as_int()));
  } else {
    if (last) refuse("may not be specified when `port` is non-numeric");
    append(errors, check_format(at.child("port"), first->as_string(), port_name_problems));
  }
  return errors;
}

FieldErrors validate_network_policy(const Json& policy, const RuleContext&) {
  FieldErrors errors;
  for (std::string_view way : {"ingress", "egress"}) {
    const JsonArray& rules = items(present(policy, "spec"), way);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const JsonArray& ports = items(&rules[i], "ports");
      for (std::size_t k = 0; k < ports.size() && !errors.full(); ++k)
        append(errors,
               check_policy_port(FieldPath("spec").child(way).index(i).child("ports").index(k), ports[k]));
    }
  }
  return errors;
}

void validate_network_policies(KindRules& rules) {
  rules.validate_create = validate_network_policy;
}

// Of the subjects, service accounts are core's.
void set_role_binding_defaults(Json& binding) {
  static const TypeInfo& role_type = table_type(kRbacGroup, "v1", "RoleRef");
  static const TypeInfo& subject_type = table_type(kRbacGroup, "v1", "Subject");
  Json* role = present(binding, "roleRef");
  if (role && role->string_at("apiGroup").empty()) put(*role, role_type, "apiGroup", kRbacGroup);
  for (Json& subject : items(binding, "subjects")) {
    const std::string_view kind = subject.string_at("kind");
    if (subject.string_at("apiGroup").empty() && (kind == "User" || kind == "Group"))
      put(subject, subject_type, "apiGroup", kRbacGroup);
  }
}

// Of a secret, an account keeps the name alone.
void keep_names_of_secrets(Json& account) {
  for (Json& secret : items(account, "secrets")) {
    JsonObject kept;
    if (const Json* name = present(secret, "name")) kept.append("name", *name);
    secret = Json(std::move(kept));
  }
}

// What no server writes while the gate of the field is off.
void drop_storage_health(Json& node) {
  if (Json* status = present(node, "status")) status->as_object().erase("storageHealth");
}

FieldErrors validate_migration(const Json& migration, const RuleContext&) {
  const FieldPath path = FieldPath("spec").child("resource");
  const Json& resource = migration.part("spec").part("resource");
  FieldErrors errors;
  if (resource.string_at("resource").empty())
    errors.push_back(required(path.child("resource"), "resource is required to be set"));
  else
    append(errors,
           check_format(path.child("resource"), resource.string_at("resource"), dns_1035_label_problems));
  if (const std::string_view group = resource.string_at("group"); !group.empty())
    append(errors, check_format(path.child("group"), group, dns_subdomain_problems));
  return errors;
}

FieldErrors check_spec_stays(const Json& next, const Json& old, const TypeInfo& type) {
  return check_immutable("spec", present(next, "spec"), present(old, "spec"), type);
}

FieldErrors validate_migration_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = validate_migration(next, ctx);
  append(errors, check_spec_stays(
                     next, old, table_type("storagemigration.k8s.io", "v1", "StorageVersionMigrationSpec")));
  return errors;
}

// "example.com:signer:name" of signer "example.com/signer"; without a signer a name as others.
NameProblems trust_bundle_problems(const Json& bundle, std::string_view name) {
  const std::string signer(bundle.part("spec").string_at("signerName"));
  if (signer.empty()) {
    if (name.find(':') == std::string_view::npos) return dns_subdomain_problems(name);
    return {"ClusterTrustBundle without signer name must not have \":\" in its name"};
  }
  std::string prefix = signer + ":";
  std::replace(prefix.begin(), prefix.end(), '/', ':');
  if (!name.starts_with(prefix))
    return {"ClusterTrustBundle for signerName " + signer + " must be named with prefix " + prefix};
  return dns_subdomain_problems(name.substr(prefix.size()));
}

struct StoredKind {
  std::string_view group, resource;
  unsigned traits;
  void (*set_defaults)(Json&) = nullptr;
  void (*adjust)(KindRules&) = nullptr;  // what the kind has alone
};

void adjust_csi_drivers(KindRules& rules) {
  rules.generation_rule = GenerationRule::BeginsWithFirstChange;
  rules.validate_create = [](const Json& driver, const RuleContext&) {
    return check_csi_driver("name", driver.part("metadata").string_at("name"));
  };
  // The reference's name of the first field.
  rules.validate_update = [](const Json& next, const Json& old, const RuleContext&) {
    FieldErrors errors =
        check_immutable("spec.attachedRequired", present_at(next, {"spec", "attachRequired"}),
                        present_at(old, {"spec", "attachRequired"}));
    append(errors,
           check_immutable("spec.volumeLifecycleModes", present_at(next, {"spec", "volumeLifecycleModes"}),
                           present_at(old, {"spec", "volumeLifecycleModes"})));
    return errors;
  };
}

void adjust_endpoint_slices(KindRules& rules) {
  rules.generation_rule = GenerationRule::ContentOrLabels;
  rules.immutable = {"addressType"};
}

void adjust_ingress_classes(KindRules& rules) {
  rules.immutable = {"spec.controller"};
}

void adjust_revisions(KindRules& rules) {
  rules.immutable = {"data"};
}

void adjust_capacities(KindRules& rules) {
  rules.immutable = {"nodeTopology", "storageClassName"};
}

void adjust_trust_bundles(KindRules& rules) {
  rules.name_problems = trust_bundle_problems;
  rules.immutable = {"spec.signerName"};
}

// Their order may change.
FieldErrors check_scopes_stay(const Json& next, const Json& old, const RuleContext&) {
  const Json *scopes = present_at(next, {"spec", "scopes"}), *before = present_at(old, {"spec", "scopes"});
  const auto set_of = [](const Json* list) {
    const std::vector<std::string> texts =
        list ? decode_strings(list->as_array()) : std::vector<std::string>();
    return std::set<std::string>(texts.begin(), texts.end());
  };
  if (set_of(scopes) == set_of(before)) return {};
  return {invalid("spec.scopes", value_or_null(scopes), "field is immutable")};
}

void adjust_quotas(KindRules& rules) {
  rules.validate_update = check_scopes_stay;
}

FieldErrors check_attachment(const Json& attachment, const RuleContext&) {
  return check_csi_driver("spec.attacher", attachment.part("spec").string_at("attacher"));
}

FieldErrors check_attachment_stays(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = check_attachment(next, ctx);
  append(errors, check_spec_stays(next, old, table_type("storage.k8s.io", "v1", "VolumeAttachmentSpec")));
  return errors;
}

FieldErrors check_request_stays(const Json& next, const Json& old, const RuleContext&) {
  return check_spec_stays(next, old, table_type("certificates.k8s.io", "v1", "PodCertificateRequestSpec"));
}

void adjust_certificate_requests(KindRules& rules) {
  rules.validate_update = check_request_stays;
}

void adjust_attachments(KindRules& rules) {
  rules.validate_create = check_attachment;
  rules.validate_update = check_attachment_stays;
}

void adjust_service_accounts(KindRules& rules) {
  rules.prepare_create = [](Json& account, const RuleContext&) { keep_names_of_secrets(account); };
  rules.prepare_update = [](Json& next, const Json&, const RuleContext&) { keep_names_of_secrets(next); };
}

void add_empty_status(Json& object, const RuleContext&) {
  object["status"] = Json::object();
}

FieldErrors validate_template_object(const Json& object, const RuleContext&) {
  return check_pod_template(FieldPath("template"), object.part("template"));
}

void adjust_pod_templates(KindRules& rules) {
  rules.validate_create = validate_template_object;
  rules.warnings = [](const Json& object, const Json* old, const RuleContext&) {
    return template_warnings(object, old, {"template"});
  };
}

void adjust_replication_controllers(KindRules& rules) {
  rules.orphans_by_default = true;
  rules.validate_create = validate_replication_controller;
  rules.warnings = [](const Json& object, const Json* old, const RuleContext&) {
    return template_warnings(object, old, {"spec.template", true});
  };
}

void adjust_migrations(KindRules& rules) {
  rules.prepare_create = add_empty_status;
  rules.validate_create = validate_migration;
  rules.validate_update = validate_migration_update;
}

FieldErrors check_csi_node(const Json& node, const RuleContext&) {
  const JsonArray& drivers = node.part("spec").items_at("drivers");
  const NamedItems by_name(drivers, "name");
  FieldErrors errors;
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    const FieldPath at = FieldPath("spec").child("drivers").index(i).child("name");
    const std::string_view name = drivers[i].string_at("name");
    append(errors, check_csi_driver(at, name));
    if (!name.empty() && by_name.is_repeated(drivers[i])) errors.push_back(duplicate(at, name));
  }
  return errors;
}

// What a driver has said of the node stays, but for how many volumes it attaches.
FieldErrors check_csi_node_change(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = check_csi_node(next, ctx);
  const NamedItems before(old.part("spec").items_at("drivers"), "name");
  for (const Json& driver : next.part("spec").items_at("drivers")) {
    const Json* found = before.find(driver.string_at("name"));
    if (!found) continue;
    Json stays = *found, changed = driver;
    for (Json* one : {&stays, &changed}) one->as_object().erase("allocatable");
    if (stays != changed)
      errors.push_back(invalid("CSINodeDriver",
                               go_form(changed, table_type("storage.k8s.io", "v1", "CSINodeDriver")),
                               "field is immutable"));
  }
  return errors;
}

void adjust_csi_nodes(KindRules& rules) {
  rules.validate_create = check_csi_node;
  rules.validate_update = check_csi_node_change;
  rules.prepare_create = add_empty_status;
  rules.prepare_status_update = [](Json& next, const Json& old, const RuleContext&) {
    Json kept = old;
    if (const Json* status = next.find("status")) kept["status"] = *status;
    next = std::move(kept);
    drop_storage_health(next);
  };
}

void protect_attributes_classes(KindRules& rules) {
  rules.immutable = {"driverName", "parameters"};
  rules.admit_create = [](Json& attributes_class, const RuleContext&) -> std::optional<Rejection> {
    add_finalizer(attributes_class, kAttributesClassProtection);
    return std::nullopt;
  };
}

constexpr std::string_view kStorageGroup = "storage.k8s.io";

constexpr StoredKind kStoredKinds[] = {
    {"", "endpoints", kPutCreates, set_endpoints_defaults},
    {"", "limitranges", kPutCreates, nullptr, adjust_limit_ranges},
    {"", "podtemplates", kGeneration | kAnswersDeleted, set_pod_template_defaults, adjust_pod_templates},
    {"", "replicationcontrollers", kGeneration | kAnswersDeleted, set_replication_controller_defaults,
     adjust_replication_controllers},
    {"", "resourcequotas", kAnswersDeleted, nullptr, adjust_quotas},
    {"", "serviceaccounts", kAnswersDeleted, nullptr, adjust_service_accounts},
    {kWebhookGroup, "mutatingwebhookconfigurations", kGeneration | kNeedsVersion | kPlainFinalizers,
     set_mutating_webhook_defaults},
    {kWebhookGroup, "validatingwebhookconfigurations", kGeneration | kNeedsVersion | kPlainFinalizers,
     set_validating_webhook_defaults},
    {"apps", "controllerrevisions", 0, nullptr, adjust_revisions},
    {"apiregistration.k8s.io", "apiservices", kNeedsVersion, nullptr, adjust_api_services},
    {"autoscaling", "horizontalpodautoscalers", kGeneration, nullptr, adjust_autoscalers},
    {"certificates.k8s.io", "certificatesigningrequests", 0, nullptr, adjust_signing_requests},
    {"certificates.k8s.io", "clustertrustbundles", kNeedsVersion, nullptr, adjust_trust_bundles},
    {"certificates.k8s.io", "podcertificaterequests", 0, nullptr, adjust_certificate_requests},
    {"coordination.k8s.io", "leasecandidates", kNeedsVersion | kPutCreates | kPlainFinalizers | kPathSegment},
    {"discovery.k8s.io", "endpointslices", kGeneration, set_endpoint_slice_defaults, adjust_endpoint_slices},
    {"flowcontrol.apiserver.k8s.io", "flowschemas", kGeneration, nullptr, adjust_flow_schemas},
    {"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", kGeneration, nullptr,
     adjust_priority_levels},
    {"networking.k8s.io", "ingressclasses", kGeneration, set_ingress_class_defaults, adjust_ingress_classes},
    {"networking.k8s.io", "ingresses", kGeneration},
    {"networking.k8s.io", "ipaddresses", 0, nullptr, adjust_ip_addresses},
    {"networking.k8s.io", "networkpolicies", kGeneration, set_network_policy_defaults,
     validate_network_policies},
    {"networking.k8s.io", "servicecidrs", 0, nullptr, adjust_service_cidrs},
    {"node.k8s.io", "runtimeclasses", kNeedsVersion | kPutCreates | kPlainFinalizers, nullptr,
     adjust_runtime_classes},
    {kRbacGroup, "clusterrolebindings", kPutCreates | kPathSegment, set_role_binding_defaults,
     adjust_cluster_role_bindings},
    {kRbacGroup, "clusterroles", kPutCreates | kPathSegment, nullptr, adjust_cluster_roles},
    {kRbacGroup, "rolebindings", kPutCreates | kPathSegment, set_role_binding_defaults, adjust_role_bindings},
    {kRbacGroup, "roles", kPutCreates | kPathSegment, nullptr, adjust_roles},
    {kStorageGroup, "csidrivers", kGeneration | kNeedsVersion | kAnswersDeleted, set_csi_driver_defaults,
     adjust_csi_drivers},
    {kStorageGroup, "csinodes", kNeedsVersion | kAnswersDeleted, nullptr, adjust_csi_nodes},
    {kStorageGroup, "csistoragecapacities", kNeedsVersion, nullptr, adjust_capacities},
    {kStorageGroup, "volumeattachments", kNeedsVersion | kAnswersDeleted, nullptr, adjust_attachments},
    {kStorageGroup, "volumeattributesclasses", kAnswersDeleted, nullptr, protect_attributes_classes},
    {"storagemigration.k8s.io", "storageversionmigrations", kNeedsVersion, nullptr, adjust_migrations},
};

KindRules rules_of_stored(const StoredKind& kind) {
  KindRules rules;
  rules.group = kind.group;
  rules.resource = kind.resource;
  rules.has_generation = kind.traits & kGeneration;
  rules.needs_version_on_update = kind.traits & kNeedsVersion;
  rules.create_on_update = kind.traits & kPutCreates;
  rules.answers_deleted_object = kind.traits & kAnswersDeleted;
  rules.plain_finalizers = kind.traits & kPlainFinalizers;
  if (kind.traits & kPathSegment) rules.name_rule = NameRule::PathSegment;
  rules.set_defaults = kind.set_defaults;
  if (kind.adjust) kind.adjust(rules);
  return rules;
}

}  // namespace

std::span<const KindRules> stored_rules() {
  static const std::vector<KindRules> kRules = [] {
    std::vector<KindRules> rules;
    for (const StoredKind& kind : kStoredKinds) rules.push_back(rules_of_stored(kind));
    return rules;
  }();
  return kRules;
}

}  // namespace berth::api
