// The objects of an installation, in the order in which they are applied.
//
// Pure, any thread. `berth install` sends them, `berth install --dry-run` prints them, and the chart is
// generated from them (chart.h). Source: Kubernetes' Pod Security Standards (profile restricted, but for the
// node agent, which needs the node's plugin sockets).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace berth::install {

inline constexpr std::string_view kFieldManager = "berth";
inline constexpr std::string_view kNamespaceDefault = "berth-system";
inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kLeaseName = "berth-scheduler";
inline constexpr std::int64_t kReplicasMax = 9;
// Users who may get this path of the API server may read the dashboard.
inline constexpr std::string_view kDashboardReadPath = "/berth/v1alpha1/dashboard";
inline constexpr std::string_view kDashboardReaderRole = "berth-dashboard-reader";

// From whom an API server learns the authority of the webhook's certificate.
enum class WebhookCa : std::uint8_t { Given, CertManager };

// Values are Json: a chart replaces some by expressions.
struct InstallOptions {
  std::string ns = std::string(kNamespaceDefault);
  Json image = "berth:latest";
  Json replicas = 2;  // one leads, the others are on standby
  std::string scheduler_name = "berth";
  std::string feature_gates;  // of the scheduler: "A=true,B=false"; empty: the release's defaults
  Json resources = default_resources();
  bool node_agent = false;                           // reports device health as NodeDeviceHealth objects
  bool service_monitor = false;                      // where the Prometheus operator is installed
  bool dashboards = false;                           // where Grafana's sidecar looks for ConfigMaps
  bool serve_dashboard = false;                      // the page of docs/dashboard.md, for users with its role
  bool webhook = false;                              // the binder's Validate and Mutate at admission
  std::string webhook_secret = "berth-webhook-tls";  // of type kubernetes.io/tls, in Berth's namespace
  WebhookCa webhook_ca = WebhookCa::CertManager;
  std::string webhook_ca_bundle;                  // base64 of PEM; empty: none is written
  std::string webhook_failure_policy = "Ignore";  // of the mutating one
  std::string dashboard = dashboard_text();
  std::string managed_by = std::string(kFieldManager);

  static Json default_resources();
  static std::string dashboard_text();
};

// When an object is part of an installation.
enum class Presence : std::uint8_t { Always, NodeAgent, ServiceMonitor, Dashboards, ServeDashboard, Webhook };

struct InstallObject {
  Json object;
  Presence presence = Presence::Always;
};

// Every object that an installation may contain: definitions first, then the namespace, accounts and roles,
// workloads last.
std::vector<InstallObject> all_objects(const InstallOptions& options);
// The objects that the options select.
std::vector<Json> installation(const InstallOptions& options);

// "Deployment berth-system/berth-scheduler": for people.
std::string title_of(const Json& object);
// The URL path of the object. Plural names come from a table: the kinds of an installation, and Topology.
std::string path_of(const Json& object);
// "deployment.apps/berth-scheduler", as kubectl prints it.
std::string printed_name(const Json& object);

}  // namespace berth::install
