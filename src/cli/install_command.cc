#include "cli/install_command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "api/gates.h"
#include "api/names.h"
#include "api/yaml_write.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/text_file.h"
#include "cli/complain.h"
#include "cli/server_calls.h"
#include "cli/version.h"
#include "client/kubeconfig.h"
#include "install/apply.h"
#include "install/crd.h"
#include "install/objects.h"

namespace berth::cli {
namespace {

struct InstallCommand {
  std::string kubeconfig;  // empty: the same search as kubectl's
  std::string ns = std::string(install::kNamespaceDefault);
  std::string image = std::string("berth:") + kBerthVersion;
  std::int64_t replicas = 2;
  std::string scheduler_name = "berth";
  std::string feature_gates;
  bool node_agent = false;
  bool service_monitor = false;
  bool dashboards = false;
  bool serve_dashboard = false;
  bool webhook = false;
  std::string webhook_secret = install::InstallOptions().webhook_secret;
  std::string webhook_ca_file;  // empty: cert-manager injects the authority
  std::string webhook_failure_policy = install::InstallOptions().webhook_failure_policy;
  bool dry_run = false;
  bool crds = false;  // for uninstall
};

struct CrdsCommand {
  std::string output = "yaml";
};

std::string documents(const std::vector<Json>& objects, const std::string& output) {
  std::string text;
  for (const Json& object : objects) {
    if (output == "json")
      text += to_pretty_string(object) + "\n";
    else
      text += (objects.size() > 1 ? "---\n" : "") + api::to_yaml(object);
  }
  return text;
}

// JSON is one document: a List.
std::string definitions_text(std::vector<Json> crds, const std::string& output) {
  if (output != "json") return documents(crds, output);
  Json items = Json::array();
  for (Json& crd : crds) items.as_array().push_back(std::move(crd));
  return documents({Json::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}})},
                   output);
}

constexpr std::size_t kCaFileBytesMax = 256u << 10;

Status add_webhook(const InstallCommand& command, install::InstallOptions& options) {
  if (!api::dns_subdomain_problems(command.webhook_secret).empty())
    return Error(ErrorCode::Invalid, "--webhook-secret",
                 "\"" + command.webhook_secret + "\" is no name of a Secret");
  options.webhook = command.webhook;
  options.webhook_secret = command.webhook_secret;
  options.webhook_failure_policy = command.webhook_failure_policy;
  if (command.webhook_ca_file.empty()) return {};
  const std::string pem = TRY(read_text_file(command.webhook_ca_file, kCaFileBytesMax));
  if (pem.find("-----BEGIN CERTIFICATE-----") == std::string::npos)
    return Error(ErrorCode::Invalid, "--webhook-ca-file",
                 command.webhook_ca_file + " has no certificate (PEM)");
  options.webhook_ca = install::WebhookCa::Given;
  options.webhook_ca_bundle = base64_encode(pem);
  return {};
}

Result<install::InstallOptions> options_of(const InstallCommand& command) {
  if (!api::dns_label_problems(command.ns).empty())
    return Error(ErrorCode::Invalid, "--namespace", "\"" + command.ns + "\" is no name of a namespace");
  if (!api::dns_subdomain_problems(command.scheduler_name).empty())
    return Error(ErrorCode::Invalid, "--scheduler-name",
                 "\"" + command.scheduler_name + "\" is no name that a pod can ask for");
  if (command.image.empty()) return Error(ErrorCode::Invalid, "--image", "names no image");
  if (const Result<api::Gates> gates = api::Gates::parse(api::GateDefaults::Release, command.feature_gates);
      !gates)
    return Error(ErrorCode::Invalid, "--feature-gates", gates.error().message());
  install::InstallOptions options;
  options.ns = command.ns;
  options.image = command.image;
  options.replicas = command.replicas;
  options.scheduler_name = command.scheduler_name;
  options.feature_gates = command.feature_gates;
  options.node_agent = command.node_agent;
  options.service_monitor = command.service_monitor;
  options.dashboards = command.dashboards;
  options.serve_dashboard = command.serve_dashboard;
  TRY(add_webhook(command, options));
  return options;
}

Result<ServerCalls> cluster_of(const InstallCommand& command, std::string_view name, const Clock& clock) {
  return ServerCalls::open(
      TRY(client::read_kubeconfig(command.kubeconfig, "", client::KubeEnvironment::of_process())), name,
      clock);
}

void print(const Json& object, const install::Applied& applied) {
  std::printf("%s %s%s\n", install::printed_name(object).c_str(),
              std::string(install::name_of(applied.change)).c_str(),
              applied.note.empty() ? "" : (" (" + applied.note + ")").c_str());
  std::fflush(stdout);
}

Status apply_all(const InstallCommand& command, const std::vector<Json>& objects, const Clock& clock) {
  ServerCalls server = TRY(cluster_of(command, "install", clock));
  const install::ServerCall call = [&](client::HttpFetch fetch) { return server.call(std::move(fetch)); };
  const auto pause = [&](Duration time) { server.pause(time); };
  for (const Json& object : objects) {
    print(object, TRY(install::apply_object(call, object)));
    if (object.string_at("kind") == "CustomResourceDefinition")
      TRY(install::wait_established(call, object, pause));
  }
  return {};
}

int run_install(const InstallCommand& command) {
  const Result<install::InstallOptions> options = options_of(command);
  if (!options) return complain(options.error());
  const std::vector<Json> objects = install::installation(*options);
  if (command.dry_run) {
    std::fputs(documents(objects, "yaml").c_str(), stdout);
    return 0;
  }
  const SystemClock clock;
  const Status applied = apply_all(command, objects, clock);
  return applied ? 0 : complain(applied.error());
}

Status remove_all(const InstallCommand& command, const install::InstallOptions& options, const Clock& clock) {
  ServerCalls server = TRY(cluster_of(command, "uninstall", clock));
  const install::ServerCall call = [&](client::HttpFetch fetch) { return server.call(std::move(fetch)); };
  const install::Definitions definitions =
      command.crds ? install::Definitions::Delete : install::Definitions::KeepWhileUsed;
  std::vector<install::InstallObject> objects = install::all_objects(options);
  std::reverse(objects.begin(), objects.end());
  for (const install::InstallObject& entry : objects) {
    const install::Applied removed = TRY(install::remove_object(call, entry.object, definitions));
    if (removed.change != install::Change::Unchanged) print(entry.object, removed);
  }
  return {};
}

int run_uninstall(const InstallCommand& command) {
  const Result<install::InstallOptions> options = options_of(command);
  if (!options) return complain(options.error());
  const SystemClock clock;
  const Status removed = remove_all(command, *options, clock);
  return removed ? 0 : complain(removed.error());
}

void add_cluster_flags(CLI::App& command, InstallCommand& given) {
  command.add_option("--kubeconfig", given.kubeconfig, "file; default: as kubectl");
  command.add_option("-n,--namespace", given.ns, "namespace of Berth")->capture_default_str();
}

void add_crds(CLI::App& app, Commands& commands) {
  CLI::App* crds = app.add_subcommand("crds", "print the CustomResourceDefinitions");
  auto given = std::make_shared<CrdsCommand>();
  crds->add_option("-o,--output", given->output, "yaml or json")->check(CLI::IsMember({"yaml", "json"}));
  add_tool(crds, commands, [given] {
    std::fputs(definitions_text(install::own_crds(), given->output).c_str(), stdout);
    return 0;
  });
}

}  // namespace

void add_install(CLI::App& app, Commands& commands) {
  add_crds(app, commands);
  CLI::App* install = app.add_subcommand("install", "install or update Berth on a cluster");
  auto given = std::make_shared<InstallCommand>();
  add_cluster_flags(*install, *given);
  install->add_option("--image", given->image, "container image of berth")->capture_default_str();
  install->add_option("--replicas", given->replicas, "number of schedulers: one leads, the others stand by")
      ->check(CLI::Range(std::int64_t{1}, install::kReplicasMax))
      ->capture_default_str();
  install->add_option("--scheduler-name", given->scheduler_name, "schedulerName of the pods it places")
      ->capture_default_str();
  install->add_option("--feature-gates", given->feature_gates,
                      "A=true,B=false for the scheduler: the cluster's gates that differ from its release");
  install->add_flag("--node-agent", given->node_agent,
                    "also a DaemonSet that reports device health as NodeDeviceHealth objects");
  install->add_flag("--service-monitor", given->service_monitor,
                    "also a ServiceMonitor for the Prometheus operator");
  install->add_flag("--dashboards", given->dashboards, "also a ConfigMap with the dashboard of Grafana");
  install->add_flag("--serve-dashboard", given->serve_dashboard,
                    "the schedulers also serve Berth's dashboard, to users bound to berth-dashboard-reader");
  CLI::Option* webhook =
      install->add_flag("--webhook", given->webhook,
                        "also the admission webhook: pods of Berth are validated and completed when created");
  install
      ->add_option("--webhook-secret", given->webhook_secret,
                   "Secret of type kubernetes.io/tls with the certificate of berth-webhook.NAMESPACE.svc")
      ->needs(webhook)
      ->capture_default_str();
  install
      ->add_option("--webhook-ca-file", given->webhook_ca_file,
                   "PEM file of the CA of that certificate; absent: cert-manager injects it")
      ->needs(webhook);
  install
      ->add_option("--webhook-failure-policy", given->webhook_failure_policy,
                   "failurePolicy of the mutating webhook: Ignore or Fail")
      ->needs(webhook)
      ->check(CLI::IsMember({"Ignore", "Fail"}))
      ->capture_default_str();
  install->add_flag("--dry-run", given->dry_run, "print the objects as YAML and send nothing");
  add_tool(install, commands, [given] { return run_install(*given); });

  CLI::App* uninstall = app.add_subcommand("uninstall", "remove the objects that `berth install` created");
  auto removed = std::make_shared<InstallCommand>();
  add_cluster_flags(*uninstall, *removed);
  uninstall->add_flag("--crds", removed->crds, "also delete the definitions of kinds that have objects");
  add_tool(uninstall, commands, [removed] { return run_uninstall(*removed); });
}

}  // namespace berth::cli
