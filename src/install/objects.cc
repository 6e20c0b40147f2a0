#include "install/objects.h"

#include "base/assert.h"
#include "install/crd.h"
#include "install/dashboard.h"
#include "install/rights.h"
#include "install/webhook.h"
#include "install/workloads.h"

namespace berth::install {
namespace {

struct KindRow {
  std::string_view api_version;
  std::string_view kind;
  std::string_view plural;
  std::string_view printed;  // as kubectl names the resource
  bool namespaced;
};
constexpr KindRow kKindRows[] = {
    {"apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions",
     "customresourcedefinition.apiextensions.k8s.io", false},
    {"v1", "Namespace", "namespaces", "namespace", false},
    {"v1", "ServiceAccount", "serviceaccounts", "serviceaccount", true},
    {"v1", "Service", "services", "service", true},
    {"v1", "ConfigMap", "configmaps", "configmap", true},
    {"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", "clusterrole.rbac.authorization.k8s.io",
     false},
    {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings",
     "clusterrolebinding.rbac.authorization.k8s.io", false},
    {"rbac.authorization.k8s.io/v1", "Role", "roles", "role.rbac.authorization.k8s.io", true},
    {"rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", "rolebinding.rbac.authorization.k8s.io",
     true},
    {"apps/v1", "Deployment", "deployments", "deployment.apps", true},
    {"apps/v1", "DaemonSet", "daemonsets", "daemonset.apps", true},
    {"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget.policy", true},
    {"networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", "networkpolicy.networking.k8s.io", true},
    {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
     "validatingwebhookconfiguration.admissionregistration.k8s.io", false},
    {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
     "mutatingwebhookconfiguration.admissionregistration.k8s.io", false},
    {"monitoring.coreos.com/v1", "ServiceMonitor", "servicemonitors", "servicemonitor.monitoring.coreos.com",
     true},
    {"scheduling.berth.dev/v1alpha1", "Topology", "topologies", "topology.scheduling.berth.dev", false},
};

const KindRow& row_of(const Json& object) {
  for (const KindRow& row : kKindRows)
    if (row.kind == object.string_at("kind")) return row;
  BERTH_ASSERT(false, "only kinds of this table are written");
  return kKindRows[0];
}

Json with_labels(Json object, std::string_view component, const InstallOptions& options) {
  object["metadata"]["labels"] = labels_of(component, options);
  return object;
}

Json access_object(std::string_view kind, std::string_view name, std::string_view ns) {
  const bool core = kind == "ServiceAccount";
  Json metadata = Json::object({{"name", name}});
  if (!ns.empty()) metadata["namespace"] = ns;
  return Json::object({{"apiVersion", core ? "v1" : "rbac.authorization.k8s.io/v1"},
                       {"kind", kind},
                       {"metadata", std::move(metadata)}});
}

Json binding_object(std::string_view kind, std::string_view role_kind, Account account, const std::string& ns,
                    bool namespaced) {
  Json binding = access_object(kind, name_of(account), namespaced ? std::string_view(ns) : "");
  binding["roleRef"] = Json::object(
      {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", role_kind}, {"name", name_of(account)}});
  binding["subjects"] = Json::array(
      {Json::object({{"kind", "ServiceAccount"}, {"name", name_of(account)}, {"namespace", ns}})});
  return binding;
}

void add_access(Account account, const InstallOptions& options, Presence presence,
                std::vector<InstallObject>& objects) {
  const auto add = [&](Json object) {
    objects.push_back({with_labels(std::move(object), name_of(account), options), presence});
  };
  add(access_object("ServiceAccount", name_of(account), options.ns));
  Json cluster_role = access_object("ClusterRole", name_of(account), "");
  cluster_role["rules"] = policy_rules(account, Scope::Cluster);
  add(std::move(cluster_role));
  add(binding_object("ClusterRoleBinding", "ClusterRole", account, options.ns, false));
  Json rules = policy_rules(account, Scope::OwnNamespace);
  if (rules.as_array().empty()) return;
  Json role = access_object("Role", name_of(account), options.ns);
  role["rules"] = std::move(rules);
  add(std::move(role));
  add(binding_object("RoleBinding", "Role", account, options.ns, true));
}

// Grafana's sidecar finds dashboards by this label, in the namespaces that it was told to watch.
Json dashboard_config_map(const InstallOptions& options) {
  Json map =
      Json::object({{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", Json::object({{"name", kDashboardConfigMap}, {"namespace", options.ns}})}});
  map = with_labels(std::move(map), "berth", options);
  map["metadata"]["labels"]["grafana_dashboard"] = "1";
  map["data"] = Json::object({{std::string(kDashboardFile), options.dashboard}});
  return map;
}

// Bound to nobody: who may read the page is the cluster's administrator's to say.
Json dashboard_reader() {
  Json role = access_object("ClusterRole", kDashboardReaderRole, "");
  role["rules"] = Json::array({Json::object(
      {{"nonResourceURLs", Json::array({kDashboardReadPath})}, {"verbs", Json::array({"get"})}})});
  return role;
}

Json namespace_object(const InstallOptions& options) {
  return Json::object(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Json::object({{"name", options.ns}})}});
}

}  // namespace

std::string InstallOptions::dashboard_text() {
  return to_pretty_string(grafana_dashboard()) + "\n";
}

std::vector<InstallObject> all_objects(const InstallOptions& options) {
  std::vector<InstallObject> objects;
  for (Json& crd : own_crds()) objects.push_back({with_labels(std::move(crd), "berth", options)});
  objects.push_back({with_labels(namespace_object(options), "berth", options)});
  add_access(Account::Scheduler, options, Presence::Always, objects);
  add_access(Account::NodeAgent, options, Presence::NodeAgent, objects);
  const std::string_view scheduler = name_of(Account::Scheduler);
  objects.push_back({with_labels(metrics_service(options), scheduler, options)});
  objects.push_back({with_labels(network_policy(options), scheduler, options)});
  objects.push_back({with_labels(disruption_budget(options), scheduler, options)});
  objects.push_back({with_labels(scheduler_deployment(options), scheduler, options)});
  objects.push_back({with_labels(node_agent_daemon_set(options), name_of(Account::NodeAgent), options),
                     Presence::NodeAgent});
  objects.push_back({with_labels(service_monitor(options), scheduler, options), Presence::ServiceMonitor});
  objects.push_back({dashboard_config_map(options), Presence::Dashboards});
  objects.push_back({with_labels(dashboard_reader(), scheduler, options), Presence::ServeDashboard});
  objects.push_back({with_labels(dashboard_service(options), scheduler, options), Presence::ServeDashboard});
  for (Json (*make)(const InstallOptions&) : {webhook_service, validating_webhook, mutating_webhook})
    objects.push_back({with_labels(make(options), scheduler, options), Presence::Webhook});
  return objects;
}

std::vector<Json> installation(const InstallOptions& options) {
  std::vector<Json> wanted;
  for (InstallObject& entry : all_objects(options)) {
    if (entry.presence == Presence::NodeAgent && !options.node_agent) continue;
    if (entry.presence == Presence::ServiceMonitor && !options.service_monitor) continue;
    if (entry.presence == Presence::Dashboards && !options.dashboards) continue;
    if (entry.presence == Presence::ServeDashboard && !options.serve_dashboard) continue;
    if (entry.presence == Presence::Webhook && !options.webhook) continue;
    wanted.push_back(std::move(entry.object));
  }
  return wanted;
}

std::string title_of(const Json& object) {
  const Json& metadata = object.part("metadata");
  const std::string_view ns = metadata.string_at("namespace");
  std::string title(object.string_at("kind"));
  title.append(" ").append(ns).append(ns.empty() ? "" : "/").append(metadata.string_at("name"));
  return title;
}

std::string path_of(const Json& object) {
  const KindRow& row = row_of(object);
  const Json& metadata = object.part("metadata");
  std::string path = row.api_version == "v1" ? "/api/v1" : "/apis/" + std::string(row.api_version);
  if (row.namespaced) path.append("/namespaces/").append(metadata.string_at("namespace"));
  path.append("/").append(row.plural).append("/").append(metadata.string_at("name"));
  return path;
}

std::string printed_name(const Json& object) {
  return std::string(row_of(object).printed) + "/" + std::string(object.part("metadata").string_at("name"));
}

}  // namespace berth::install
