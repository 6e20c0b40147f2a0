#include "install/workloads.h"

#include "api/type_table.h"
#include "install/rights.h"
#include "install/webhook.h"

namespace berth::install {
namespace {

constexpr std::string_view kKubeletDirectory = "/var/lib/kubelet";
constexpr std::string_view kNodesDirectory = "/run/berth/nodes";
constexpr std::string_view kPortName = "https-status", kDashboardPortName = "https-dashboard";
// Where Prometheus, as every pod, finds the token of its account.
constexpr std::string_view kAccountTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token";
constexpr std::int64_t kUser = 65532;  // nobody's in common images
// Two seconds of Berth's own (INTERFACE: SIGTERM), the release of the Lease, and the rest for a slow API
// server.
constexpr std::int64_t kGraceSeconds = 10;

Json named(std::string_view api_version, std::string_view kind, std::string_view name,
           const InstallOptions& options) {
  return Json::object({{"apiVersion", api_version},
                       {"kind", kind},
                       {"metadata", Json::object({{"name", name}, {"namespace", options.ns}})}});
}

// The labels by which workloads select their pods: they never change, because a selector is immutable.
Json selector_labels(std::string_view component) {
  return Json::object({{"app.kubernetes.io/name", component}, {"app.kubernetes.io/part-of", "berth"}});
}

Json selector(std::string_view component) {
  return Json::object({{"matchLabels", selector_labels(component)}});
}

Json probe(std::string_view path, std::int64_t period_s, std::int64_t failures) {
  return Json::object({{"httpGet", Json::object({{"path", path}, {"port", kPortName}, {"scheme", "HTTPS"}})},
                       {"periodSeconds", period_s},
                       {"failureThreshold", failures}});
}

Json container(Account account, Json args, const InstallOptions& options) {
  Json security = Json::object({{"allowPrivilegeEscalation", false},
                                {"readOnlyRootFilesystem", true},
                                {"capabilities", Json::object({{"drop", Json::array({"ALL"})}})}});
  return Json::object(
      {{"name", name_of(account)},
       {"image", options.image},
       {"args", std::move(args)},
       {"ports", Json::array({Json::object(
                     {{"name", kPortName}, {"containerPort", kStatusPort}, {"protocol", "TCP"}})})},
       {"livenessProbe", probe("/healthz", 10, 6)},
       {"readinessProbe", probe("/readyz", 5, 3)},
       // Lists of a large cluster take time: five minutes.
       {"startupProbe", probe("/healthz", 5, 60)},
       {"securityContext", std::move(security)}});
}

Json pod_template(Account account, Json container, Json pod_security) {
  pod_security["seccompProfile"] = Json::object({{"type", "RuntimeDefault"}});
  return Json::object({{"metadata", Json::object({{"labels", selector_labels(name_of(account))}})},
                       {"spec", Json::object({{"serviceAccountName", name_of(account)},
                                              {"terminationGracePeriodSeconds", kGraceSeconds},
                                              {"securityContext", std::move(pod_security)},
                                              {"containers", Json::array({std::move(container)})}})}});
}

Json toleration(std::string_view key, std::string_view effect) {
  return Json::object({{"key", key}, {"operator", "Exists"}, {"effect", effect}});
}

struct HostFolder {
  std::string_view name;
  std::string_view folder;  // relative to kubelet's
};
constexpr HostFolder kHostFolders[] = {{"registry", "plugins_registry"}, {"plugins", "plugins"}};

std::string listen_flag() {
  return "--listen=0.0.0.0:" + std::to_string(kStatusPort);
}

void add_dashboard(Json& container) {
  container["args"].as_array().emplace_back("--dashboard=0.0.0.0:" + std::to_string(kDashboardPort));
  container["ports"].as_array().push_back(
      Json::object({{"name", kDashboardPortName}, {"containerPort", kDashboardPort}, {"protocol", "TCP"}}));
}

// The certificate's Secret appears in the container as files, which change with it.
void add_webhook(Json& container, Json& pod_spec, const InstallOptions& options) {
  const std::string folder(kCertificateFolder);
  for (const std::string& argument :
       {std::string("--webhook"), "--webhook-listen=0.0.0.0:" + std::to_string(kWebhookPort),
        "--tls-cert-file=" + folder + "/tls.crt", "--tls-private-key-file=" + folder + "/tls.key"})
    container["args"].as_array().emplace_back(argument);
  container["ports"].as_array().push_back(
      Json::object({{"name", "https-webhook"}, {"containerPort", kWebhookPort}, {"protocol", "TCP"}}));
  container["volumeMounts"] = Json::array(
      {Json::object({{"name", "webhook-certificate"}, {"mountPath", folder}, {"readOnly", true}})});
  pod_spec["volumes"] =
      Json::array({Json::object({{"name", "webhook-certificate"},
                                 {"secret", Json::object({{"secretName", options.webhook_secret}})}})});
}

}  // namespace

Json scheduler_labels() {
  return selector_labels(name_of(Account::Scheduler));
}

Json words(std::string_view list) {
  Json array = Json::array();
  api::for_each_listed(list, [&](std::string_view word) { array.as_array().emplace_back(word); });
  return array;
}

Json InstallOptions::default_resources() {
  return Json::object({{"requests", Json::object({{"cpu", "250m"}, {"memory", "256Mi"}})},
                       {"limits", Json::object({{"memory", "4Gi"}})}});
}

Json labels_of(std::string_view component, const InstallOptions& options) {
  Json labels = selector_labels(component);
  labels[kManagedByLabel] = options.managed_by;
  return labels;
}

Json scheduler_deployment(const InstallOptions& options) {
  Json args = Json::array({"scheduler", "--with-binder", "--scheduler-name=" + options.scheduler_name,
                           listen_flag(), "--leader-elect-resource-namespace=" + options.ns,
                           "--leader-elect-resource-name=" + std::string(kLeaseName)});
  if (!options.feature_gates.empty())
    args.as_array().emplace_back("--feature-gates=" + options.feature_gates);
  Json runs = container(Account::Scheduler, std::move(args), options);
  runs["resources"] = options.resources;
  if (options.serve_dashboard) add_dashboard(runs);
  Json certificate = Json::object();
  if (options.webhook) add_webhook(runs, certificate, options);
  Json pod =
      pod_template(Account::Scheduler, std::move(runs),
                   Json::object({{"runAsNonRoot", true}, {"runAsUser", kUser}, {"runAsGroup", kUser}}));
  Json& spec = pod["spec"];
  if (options.webhook) spec["volumes"] = certificate.part("volumes");
  spec["priorityClassName"] = "system-cluster-critical";
  spec["topologySpreadConstraints"] =
      Json::array({Json::object({{"maxSkew", 1},
                                 {"topologyKey", "kubernetes.io/hostname"},
                                 {"whenUnsatisfiable", "ScheduleAnyway"},
                                 {"labelSelector", selector(name_of(Account::Scheduler))}})});
  spec["tolerations"] = Json::array({toleration("node-role.kubernetes.io/control-plane", "NoSchedule")});
  Json deployment = named("apps/v1", "Deployment", name_of(Account::Scheduler), options);
  deployment["spec"] = Json::object({{"replicas", options.replicas},
                                     {"selector", selector(name_of(Account::Scheduler))},
                                     {"template", std::move(pod)}});
  return deployment;
}

Json disruption_budget(const InstallOptions& options) {
  Json budget = named("policy/v1", "PodDisruptionBudget", name_of(Account::Scheduler), options);
  budget["spec"] = Json::object({{"maxUnavailable", 1}, {"selector", selector(name_of(Account::Scheduler))}});
  return budget;
}

// Only probes, metrics, readers of the dashboard and admission reviews may come in. Outgoing traffic is not
// restricted: manifests do not know the API server's address.
Json network_policy(const InstallOptions& options) {
  Json ports = Json::array({Json::object({{"port", kStatusPort}, {"protocol", "TCP"}})});
  if (options.serve_dashboard)
    ports.as_array().push_back(Json::object({{"port", kDashboardPort}, {"protocol", "TCP"}}));
  if (options.webhook)
    ports.as_array().push_back(Json::object({{"port", kWebhookPort}, {"protocol", "TCP"}}));
  Json policy = named("networking.k8s.io/v1", "NetworkPolicy", name_of(Account::Scheduler), options);
  policy["spec"] = Json::object({{"podSelector", selector(name_of(Account::Scheduler))},
                                 {"policyTypes", Json::array({"Ingress"})},
                                 {"ingress", Json::array({Json::object({{"ports", std::move(ports)}})})}});
  return policy;
}

Json metrics_service(const InstallOptions& options) {
  Json service = named("v1", "Service", name_of(Account::Scheduler), options);
  service["spec"] = Json::object({{"clusterIP", "None"},
                                  {"selector", selector_labels(name_of(Account::Scheduler))},
                                  {"ports", Json::array({Json::object({{"name", kPortName},
                                                                       {"port", kStatusPort},
                                                                       {"protocol", "TCP"},
                                                                       {"targetPort", kPortName}})})}});
  return service;
}

// Every scheduler serves the page from its own view and with its own tokens' reviews; a browser stays with
// one.
Json dashboard_service(const InstallOptions& options) {
  Json service = named("v1", "Service", kDashboardService, options);
  service["spec"] =
      Json::object({{"selector", selector_labels(name_of(Account::Scheduler))},
                    {"sessionAffinity", "ClientIP"},
                    {"ports", Json::array({Json::object({{"name", kDashboardPortName},
                                                         {"port", 443},
                                                         {"protocol", "TCP"},
                                                         {"targetPort", kDashboardPortName}})})}});
  return service;
}

// The process makes its own certificate when it starts, so no authority has signed it. It lets Prometheus'
// own account read metrics.
Json service_monitor(const InstallOptions& options) {
  Json monitor = named("monitoring.coreos.com/v1", "ServiceMonitor", name_of(Account::Scheduler), options);
  monitor["spec"] = Json::object(
      {{"selector", selector(name_of(Account::Scheduler))},
       {"endpoints",
        Json::array({Json::object({{"port", kPortName},
                                   {"scheme", "https"},
                                   {"bearerTokenFile", kAccountTokenFile},
                                   {"tlsConfig", Json::object({{"insecureSkipVerify", true}})}})})}});
  return monitor;
}

// Root without any capability: plugin sockets belong to root. It reads two folders of kubelet, which makes
// them before any pod.
Json node_agent_daemon_set(const InstallOptions& options) {
  const std::string nodes(kNodesDirectory);
  Json args = Json::array({"node-agent", "--node=$(NODE_NAME)", "--nodes-dir=" + nodes,
                           "--kubelet-dir=" + std::string(kKubeletDirectory), listen_flag()});
  Json runs = container(Account::NodeAgent, std::move(args), options);
  runs["env"] = Json::array({Json::object(
      {{"name", "NODE_NAME"},
       {"valueFrom", Json::object({{"fieldRef", Json::object({{"fieldPath", "spec.nodeName"}})}})}})});
  runs["resources"] = Json::object({{"requests", Json::object({{"cpu", "20m"}, {"memory", "32Mi"}})},
                                    {"limits", Json::object({{"memory", "256Mi"}})}});
  Json mounts = Json::array({Json::object({{"name", "nodes"}, {"mountPath", nodes}})});
  Json volumes = Json::array({Json::object({{"name", "nodes"}, {"emptyDir", Json::object()}})});
  for (const HostFolder& folder : kHostFolders) {
    const std::string path = std::string(kKubeletDirectory) + "/" + std::string(folder.folder);
    mounts.as_array().push_back(
        Json::object({{"name", folder.name}, {"mountPath", path}, {"readOnly", true}}));
    volumes.as_array().push_back(Json::object(
        {{"name", folder.name}, {"hostPath", Json::object({{"path", path}, {"type", "Directory"}})}}));
  }
  runs["volumeMounts"] = std::move(mounts);
  Json pod = pod_template(Account::NodeAgent, std::move(runs),
                          Json::object({{"runAsUser", std::int64_t{0}}, {"runAsGroup", std::int64_t{0}}}));
  pod["spec"]["priorityClassName"] = "system-node-critical";
  pod["spec"]["tolerations"] = Json::array({Json::object({{"operator", "Exists"}})});
  pod["spec"]["volumes"] = std::move(volumes);
  Json daemon_set = named("apps/v1", "DaemonSet", name_of(Account::NodeAgent), options);
  daemon_set["spec"] =
      Json::object({{"selector", selector(name_of(Account::NodeAgent))}, {"template", std::move(pod)}});
  return daemon_set;
}

}  // namespace berth::install
