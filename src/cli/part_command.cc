#include "cli/part_command.h"

#include <atomic>
#include <cstdio>
#include <optional>

#include "api/gates.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/apiserver_command.h"
#include "cli/cel_plug.h"
#include "cli/control_plane.h"
#include "cli/part_leading.h"
#include "cli/part_pages.h"
#include "cli/stop_signal.h"
#include "cli/version.h"
#include "client/https_client.h"
#include "health/node_agents.h"

namespace berth::cli {
namespace {

constexpr Duration kStepPeriod = Duration::millis(100);
constexpr Duration kStopGrace = Duration::seconds(5);
constexpr Duration kReleaseLimit = Duration::seconds(2);

std::string_view name_of(Part part) {
  if (part == Part::NodeAgent) return "node-agent";
  return part == Part::Binder ? "binder" : "scheduler";
}

control::ControlPlaneOptions plane_options(const PartCommand& command) {
  control::ControlPlaneOptions options;
  options.scheduler_names = command.scheduler_names;
  options.scheduler = command.part == Part::Scheduler || command.part == Part::SchedulerWithBinder;
  options.binder = command.part == Part::Binder || command.part == Part::SchedulerWithBinder;
  options.controllers = false;
  options.simulated_nodes = false;
  return options;
}

client::ElectionOptions election_options(const PartCommand& command) {
  SystemRandom random;
  client::ElectionOptions options;
  options.ns = command.lease_namespace;
  options.name = "berth-" + std::string(name_of(command.part));
  options.identity = own_identity(random);
  return options;
}

std::string metrics_of(const ControlPlaneLoops& plane, const std::atomic<bool>& leads, Part part) {
  MetricsText text;
  text.family("leader_election_master_status", MetricType::Gauge, "1 where this process leads.");
  text.sample({{"name", "berth-" + std::string(name_of(part))}}, leads ? 1 : 0);
  plane.write_metrics(text);
  return text.take();
}

// The agent of the one node; null for the other parts.
Result<std::unique_ptr<health::NodeAgents>> start_agent(const PartCommand& command, health::HealthFeed& feed,
                                                        const Clock& clock) {
  if (command.part != Part::NodeAgent) return std::unique_ptr<health::NodeAgents>();
  std::string folder = command.nodes_directory;
  if (folder.empty()) {
    ServerOptions defaults;
    choose_data_directory(defaults, false);
    folder = defaults.data_directory + "/nodes";
  }
  return health::NodeAgents::start(folder, {command.node}, feed, clock);
}

Status run(const PartCommand& command, const api::Gates& gates, const StopSignal& stop) {
  const SystemClock clock;
  const client::ClusterAccess access =
      TRY(client::read_kubeconfig(command.kubeconfig, "", client::KubeEnvironment::of_process()));
  client::HttpFetcherOptions http;
  http.user_agent = "berth-" + std::string(name_of(command.part)) + "/" + kBerthVersion;
  const std::unique_ptr<client::ApiClient> client = TRY(client::make_https_client(access, http, clock));
  std::optional<PartLeading> leading;
  if (command.leader_elect) leading.emplace(*client, clock, election_options(command));
  std::atomic<bool> leads = !command.leader_elect;
  const auto told = [&leads] { return leads ? control::Leading::Yes : control::Leading::No; };
  health::HealthFeed feed;
  control::ControlPlaneOptions options = plane_options(command);
  if (command.part == Part::NodeAgent) options.health = &feed;
  ControlPlaneLoops plane(*client, clock, gates, options, told());
  const std::unique_ptr<health::NodeAgents> agent = TRY(start_agent(command, feed, clock));
  const std::unique_ptr<PartServer> pages = TRY(
      PartServer::open(command.listen, {.ready = [&plane] { return plane.synced(); },
                                        .metrics = [&] { return metrics_of(plane, leads, command.part); }}));
  std::printf("The %s works on %s; health and metrics are on %s\n",
              std::string(name_of(command.part)).c_str(), access.server.c_str(), pages->url().c_str());
  std::fflush(stdout);
  while (!stop.wait_for(kStepPeriod)) {
    if (!leading || leading->step() == leads) continue;
    leads = !leads;
    plane.lead(told());
    log(LogLevel::Info, leads ? "leads from now on" : "does not lead any more",
        {{"part", std::string(name_of(command.part))}});
  }
  log(LogLevel::Info, "stopping");
  plane.stop(kStopGrace);
  if (leading) leading->release(kReleaseLimit);
  return {};
}

std::string quoted(const std::string& text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

// Strings are written as JSON writes them, which is YAML too.
std::string configuration_text(const PartCommand& command) {
  std::string text = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";
  text += "part: " + std::string(name_of(command.part)) + "\n";
  text += "clientConnection:\n  kubeconfig: " + quoted(command.kubeconfig) + "\n";
  text += "listen: " + quoted(command.listen) + "\n";
  text += "leaderElection:\n  leaderElect: " + std::string(command.leader_elect ? "true" : "false") +
          "\n  resourceNamespace: " + quoted(command.lease_namespace) +
          "\n  resourceName: " + quoted("berth-" + std::string(name_of(command.part))) + "\n";
  if (command.part == Part::NodeAgent) {
    text += "nodeAgent:\n  node: " + quoted(command.node) +
            "\n  nodesDirectory: " + quoted(command.nodes_directory) + "\n";
  } else if (command.part != Part::Binder) {
    text += "scheduler:\n  withBinder: ";
    text += command.part == Part::SchedulerWithBinder ? "true" : "false";
    text += "\n  schedulerNames:\n";
    for (const std::string& name : command.scheduler_names) text += "  - " + quoted(name) + "\n";
  }
  text += "featureGates:\n";
  const Result<api::Gates> gates = api::Gates::parse(api::GateDefaults::Release, command.feature_gates);
  BERTH_ASSERT(gates.ok(), "the gates were read before");
  for (const api::GateInfo& gate : api::gate_table())
    text += "  " + std::string(gate.name) + ": " + (gates->enabled(gate.name) ? "true" : "false") + "\n";
  return text;
}

int run_part(const PartCommand& command) {
  StopSignal stop;
  const Result<api::Gates> gates = api::Gates::parse(api::GateDefaults::Release, command.feature_gates);
  if (!gates) return complain(gates.error());
  if (command.print_config) {
    std::fputs(configuration_text(command).c_str(), stdout);
    return 0;
  }
  if (command.part == Part::NodeAgent && !gates->enabled("ResourceHealthStatus"))
    return complain(Error(ErrorCode::Invalid, "--feature-gates",
                          "a node agent reports device health: it needs ResourceHealthStatus=true"));
  plug_cel();
  if (const Status ran = run(command, *gates, stop); !ran) return complain(ran.error());
  return 0;
}

}  // namespace berth::cli
