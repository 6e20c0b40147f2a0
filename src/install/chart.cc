#include "install/chart.h"

#include <algorithm>

#include "api/yaml_write.h"
#include "base/assert.h"
#include "install/crd.h"
#include "install/objects.h"

namespace berth::install {
namespace {

// A placeholder in an object for a value of the chart. YAML writes it without quotes.
constexpr std::string_view kTokenStart = "BERTH-VALUE-";
constexpr std::string_view kTokenEnd = "-END";

struct ChartValue {
  std::string_view name;
  std::string_view token;       // in objects; empty: controls an object
  std::string_view expression;  // of the template; the line of an empty value is left out
  bool optional;
  std::string_view initial;  // YAML
  std::string_view meaning;
};
constexpr ChartValue kValues[] = {
    {"image", "image", "{{ .Values.image | quote }}", false, "", "container image of berth"},
    {"namespace", "namespace", "{{ .Values.namespace | default .Release.Namespace }}", false, "\"\"",
     "where Berth runs; empty: the release's namespace, else the chart makes it"},
    {"replicas", "replicas", "{{ .Values.replicas }}", false, "2",
     "schedulers: one leads, the others stand by"},
    {"schedulerName", "scheduler-name", "{{ .Values.schedulerName }}", false, "berth",
     "schedulerName of the pods it places"},
    {"featureGates", "feature-gates", "{{ .Values.featureGates }}", true, "\"\"",
     "of the scheduler, A=true,B=false; the cluster's, where they are not its release's"},
    {"resources", "resources", "{{ toJson .Values.resources }}", false, "", "of the scheduler's container"},
    {"nodeAgent.enabled", "", "", false, "false",
     "a DaemonSet that reports device health as NodeDeviceHealth objects"},
    {"serviceMonitor.enabled", "", "", false, "false", "a ServiceMonitor for the Prometheus operator"},
    {"dashboards.enabled", "dashboard", R"({{ .Files.Get "dashboards/berth.json" | toJson }})", false,
     "false", "a ConfigMap with the dashboard, for Grafana's sidecar (label grafana_dashboard)"},
    {"serveDashboard.enabled", "", "", false, "false",
     "the schedulers serve Berth's own dashboard, to users who are bound to the ClusterRole "
     "berth-dashboard-reader"},
    {"webhook.enabled", "", "", false, "false",
     "pods of Berth are validated and completed when they are created (shares of GPUs, plugins)"},
    {"webhook.secret", "webhook-secret", "{{ .Values.webhook.secret }}", false, "berth-webhook-tls",
     "the webhook's certificate: a Secret of type kubernetes.io/tls for berth-webhook.NAMESPACE.svc"},
    {"webhook.caBundle", "webhook-ca", "{{ .Values.webhook.caBundle }}", true, "\"\"",
     "base64 of its authority's PEM; empty: cert-manager injects it from a Certificate of the Secret's name"},
    {"webhook.failurePolicy", "webhook-failure-policy", "{{ .Values.webhook.failurePolicy }}", false,
     "Ignore", "of the mutating webhook; Fail where a plugin relies on Mutate, as shares of GPUs do"},
};

std::string token_of(std::string_view name) {
  return std::string(kTokenStart) + std::string(name) + std::string(kTokenEnd);
}

// Options that change objects which are always there.
struct Extras {
  bool webhook = false;
  bool dashboard = false;
};

InstallOptions chart_options(Extras extras) {
  InstallOptions options;
  options.webhook = extras.webhook;
  options.serve_dashboard = extras.dashboard;
  options.webhook_secret = token_of("webhook-secret");
  options.webhook_ca_bundle = token_of("webhook-ca");
  options.webhook_failure_policy = token_of("webhook-failure-policy");
  options.ns = token_of("namespace");
  options.image = token_of("image");
  options.replicas = token_of("replicas");
  options.scheduler_name = token_of("scheduler-name");
  options.feature_gates = token_of("feature-gates");
  options.resources = token_of("resources");
  options.dashboard = token_of("dashboard");
  options.managed_by = "Helm";
  return options;
}

// One line of YAML with its tokens replaced.
std::string template_line(std::string line) {
  for (const ChartValue& value : kValues) {
    const std::string token = token_of(value.token);
    bool found = false;
    for (std::size_t at = line.find(token); at != std::string::npos; at = line.find(token)) {
      line.replace(at, token.size(), value.expression);
      found = true;
    }
    if (found && value.optional)
      line = "{{- if .Values." + std::string(value.name) + " }}\n" + line + "\n{{- end }}";
  }
  BERTH_ASSERT(line.find(kTokenStart) == std::string::npos, "every token is a value of the chart");
  return line;
}

std::string template_text(const Json& object) {
  const std::string yaml = api::to_yaml(object);
  std::string text;
  for (std::size_t begin = 0; begin < yaml.size();) {
    const std::size_t end = yaml.find('\n', begin);
    text += template_line(yaml.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return text;
}

// When the chart contains the object; empty: always.
std::string condition_of(const InstallObject& entry) {
  if (entry.presence == Presence::NodeAgent) return ".Values.nodeAgent.enabled";
  if (entry.presence == Presence::ServiceMonitor) return ".Values.serviceMonitor.enabled";
  if (entry.presence == Presence::Dashboards) return ".Values.dashboards.enabled";
  if (entry.presence == Presence::ServeDashboard) return ".Values.serveDashboard.enabled";
  if (entry.presence == Presence::Webhook) return ".Values.webhook.enabled";
  // Helm itself creates the release's namespace.
  if (entry.object.string_at("kind") == "Namespace")
    return "and .Values.namespace (ne .Values.namespace .Release.Namespace)";
  return "";
}

// "clusterrole-berth-scheduler.yaml"
std::string file_name(const Json& object) {
  std::string name(object.string_at("kind"));
  if (object.string_at("kind") == "CustomResourceDefinition") {
    const std::string_view crd = object.part("metadata").string_at("name");
    name = "crd-" + std::string(crd.substr(0, crd.find('.')));
  } else if (name != "Namespace") {
    name += "-" + std::string(object.part("metadata").string_at("name"));
  }
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return "templates/" + name + ".yaml";
}

ChartFile template_file(InstallObject entry) {
  const std::string condition = condition_of(entry);
  // Deleting a definition deletes every object of its kind.
  if (entry.object.string_at("kind") == "CustomResourceDefinition")
    entry.object["metadata"]["annotations"] = Json::object({{"helm.sh/resource-policy", "keep"}});
  std::string text = template_text(entry.object);
  if (!condition.empty()) text = "{{- if " + condition + " }}\n" + text + "{{- end }}\n";
  return {file_name(entry.object), std::move(text)};
}

// The first where the value is true; one of both where they are equal.
std::string either(std::string_view value, const std::string& with, const std::string& without) {
  if (with == without) return with;
  return "{{- if .Values." + std::string(value) + " }}\n" + with + "{{- else }}\n" + without + "{{- end }}\n";
}

std::string chart_yaml(std::string_view version) {
  return api::to_yaml(
      Json::object({{"apiVersion", "v2"},
                    {"name", "berth"},
                    {"type", "application"},
                    {"version", version},
                    {"appVersion", version},
                    {"kubeVersion", ">=1.34.0-0"},
                    {"description", "A scheduler of accelerator workloads, with its binder"}}));
}

// The initial value of one that is not a scalar, or that is computed.
std::string initial_of(const ChartValue& value, std::string_view version) {
  if (value.name == "image") return "berth:" + std::string(version);
  return std::string(value.initial);
}

std::string indented(const std::string& yaml) {
  std::string text;
  for (std::size_t begin = 0; begin < yaml.size();) {
    const std::size_t end = yaml.find('\n', begin);
    text += "  " + yaml.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

std::string values_yaml(std::string_view version) {
  std::string text;
  std::string_view parent;
  for (const ChartValue& value : kValues) {
    const std::size_t dot = value.name.find('.');
    const bool first = dot == std::string_view::npos || value.name.substr(0, dot) != parent;
    parent = dot == std::string_view::npos ? std::string_view() : value.name.substr(0, dot);
    if (!first) {
      text.append("  # ").append(value.meaning).append("\n  ");
      text.append(value.name.substr(dot + 1)).append(": ").append(value.initial).append("\n");
      continue;
    }
    text.append(text.empty() ? "" : "\n").append("# ").append(value.meaning).append("\n");
    if (value.name == "resources")
      text.append("resources:\n").append(indented(api::to_yaml(InstallOptions::default_resources())));
    else if (dot == std::string_view::npos)
      text.append(value.name).append(": ").append(initial_of(value, version)).append("\n");
    else
      text.append(value.name.substr(0, dot))
          .append(":\n  ")
          .append(value.name.substr(dot + 1))
          .append(": ")
          .append(value.initial)
          .append("\n");
  }
  return text;
}

std::string readme(std::string_view version) {
  std::string text =
      "# The chart of Berth\n\nThe objects of `berth install`, with values. Written by Berth itself\n"
      "(`src/install/chart.cc`): change it there.\n\n"
      "    helm install berth deploy/helm/berth --namespace berth-system --create-namespace --set "
      "image=IMAGE\n\n"
      "| value | default | what it is |\n|---|---|---|\n";
  for (const ChartValue& value : kValues) {
    const std::string initial = value.name == "resources" ? to_string(InstallOptions::default_resources())
                                                          : initial_of(value, version);
    text.append("| `").append(value.name).append("` | `").append(initial).append("` | ");
    text.append(value.meaning).append(" |\n");
  }
  text +=
      "\nHelm leaves Berth's definitions behind when the release goes (`helm.sh/resource-policy: keep`);\n"
      "`kubectl delete crd";
  for (const Json& crd : own_crds()) text.append(" ").append(crd.part("metadata").string_at("name"));
  return text + "`\ndeletes them with their objects.\n";
}

}  // namespace

std::vector<ChartFile> chart_files(std::string_view version) {
  std::vector<ChartFile> files = {{"Chart.yaml", chart_yaml(version)},
                                  {"values.yaml", values_yaml(version)},
                                  {"README.md", readme(version)},
                                  {"dashboards/berth.json", InstallOptions::dashboard_text()}};
  const auto templates = [](Extras extras) {
    std::vector<ChartFile> made;
    for (InstallObject& object : all_objects(chart_options(extras)))
      made.push_back(template_file(std::move(object)));
    return made;
  };
  const std::vector<ChartFile> plain = templates({}), webhook = templates({.webhook = true}),
                               page = templates({.dashboard = true}),
                               both = templates({.webhook = true, .dashboard = true});
  for (std::size_t i = 0; i < plain.size(); ++i)
    files.push_back({plain[i].path,
                     either("serveDashboard.enabled", either("webhook.enabled", both[i].text, page[i].text),
                            either("webhook.enabled", webhook[i].text, plain[i].text))});
  return files;
}

}  // namespace berth::install
