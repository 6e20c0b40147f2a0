// Kinds that are only stored: how their storage treats writes, and their defaults.
//
// Source: the strategies (registry/*/strategy.go) and defaults.go of Kubernetes 1.37, as tests/cluster/parity
// observes them.
#include <utility>
#include <vector>

#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"

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

struct StoredKind {
  std::string_view group, resource;
  unsigned traits;
  void (*set_defaults)(Json&) = nullptr;
};

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kStorageGroup = "storage.k8s.io";

constexpr StoredKind kStoredKinds[] = {
    {"", "endpoints", kPutCreates},
    {"", "limitranges", kPutCreates},
    {"", "podtemplates", kGeneration | kAnswersDeleted, set_pod_template_defaults},
    {"", "replicationcontrollers", kGeneration | kAnswersDeleted, set_replication_controller_defaults},
    {"", "resourcequotas", kAnswersDeleted},
    {"", "serviceaccounts", kAnswersDeleted},
    {kWebhookGroup, "mutatingwebhookconfigurations", kGeneration | kNeedsVersion | kPlainFinalizers,
     set_mutating_webhook_defaults},
    {kWebhookGroup, "validatingwebhookconfigurations", kGeneration | kNeedsVersion | kPlainFinalizers,
     set_validating_webhook_defaults},
    {"autoscaling", "horizontalpodautoscalers", kGeneration},
    {"coordination.k8s.io", "leasecandidates", kNeedsVersion | kPutCreates | kPlainFinalizers | kPathSegment},
    {"discovery.k8s.io", "endpointslices", kGeneration},
    {"flowcontrol.apiserver.k8s.io", "flowschemas", kGeneration},
    {"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", kGeneration},
    {"networking.k8s.io", "ingressclasses", kGeneration},
    {"networking.k8s.io", "ingresses", kGeneration},
    {"networking.k8s.io", "networkpolicies", kGeneration},
    {"node.k8s.io", "runtimeclasses", kNeedsVersion | kPutCreates | kPlainFinalizers},
    {kRbacGroup, "clusterrolebindings", kPutCreates | kPathSegment},
    {kRbacGroup, "clusterroles", kPutCreates | kPathSegment},
    {kRbacGroup, "rolebindings", kPutCreates | kPathSegment},
    {kRbacGroup, "roles", kPutCreates | kPathSegment},
    {kStorageGroup, "csidrivers", kNeedsVersion | kAnswersDeleted, set_csi_driver_defaults},
    {kStorageGroup, "csinodes", kNeedsVersion | kAnswersDeleted},
    {kStorageGroup, "csistoragecapacities", kNeedsVersion},
    {kStorageGroup, "volumeattachments", kNeedsVersion | kAnswersDeleted},
    {kStorageGroup, "volumeattributesclasses", kAnswersDeleted},
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
