#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>

#include "base/log.h"
#include "cli/apiserver_command.h"
#include "cli/bench_command.h"
#include "cli/cel_command.h"
#include "cli/part_command.h"
#include "cli/plan_command.h"
#include "cli/up_command.h"
#include "cli/version.h"
#include "dra/scoring.h"

namespace berth::cli {
namespace {

void add_logging(CLI::App& app, std::string& level, std::string& format) {
  app.add_option("--log-level", level, "debug, info, warning, error or off")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}));
  app.add_option("--log-format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
}

void add_server_flags(CLI::App& command, ServerOptions& server, std::string& gates) {
  command.add_option("--data-dir", server.data_directory, "where objects are kept");
  command.add_option("--listen", server.listen, "ADDR:PORT; port 0 picks a free one");
  command.add_option("--kubeconfig", server.kubeconfig, "file to write once the server is ready");
  command.add_option("--feature-gates", gates, "A=true,B=false, with Kubernetes' gate names");
  command.add_option("--audit-log", server.audit_log, "file that gets one JSON line per request");
  command
      .add_option("--watch-window", server.watch_window_events,
                  "events kept for watches and for lists of an old version")
      ->check(CLI::PositiveNumber);
  command.add_flag("--insecure", server.insecure,
                   "plain HTTP on loopback, every request is the administrator's");
}

void add_part_flags(CLI::App& command, PartCommand& part) {
  command.add_option("--kubeconfig", part.kubeconfig, "file; without it as kubectl, then the pod's own");
  command.add_option("--feature-gates", part.feature_gates, "A=true,B=false, with Kubernetes' gate names");
  command.add_option("--listen", part.listen,
                     "ADDR:PORT of /healthz, /readyz and /metrics; port 0 picks a free one");
  command.add_flag("--print-config", part.print_config, "print the effective configuration and end");
}

void add_election_flags(CLI::App& command, PartCommand& part) {
  command.add_option("--leader-elect", part.leader_elect, "work only while holding the Lease");
  command.add_option("--leader-elect-resource-namespace", part.lease_namespace, "of the Lease");
}

void add_plan_flags(CLI::App& command, PlanCommand& plan) {
  command.add_option("-f,--file", plan.files, "objects: a file, a folder or -")->required();
  command.add_option("-o,--output", plan.output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
  command.add_option("--verdicts", plan.verdicts, "none, summary or all: judge every node for every pod")
      ->check(CLI::IsMember({"none", "summary", "all"}));
  command.add_option("--now", plan.now, "RFC 3339; without it the newest timestamp of the input");
  std::vector<std::string> scorings;
  for (const dra::DeviceScoringName& row : dra::kDeviceScorings) scorings.emplace_back(row.name);
  command
      .add_option("--device-scoring", plan.device_scoring,
                  "which of several allocations on a node: " + dra::device_scoring_names())
      ->check(CLI::IsMember(scorings));
  command.add_option("--seed", plan.seed, "another one gives other share ids");
  command.add_option("--feature-gates", plan.feature_gates, "A=true,B=false, with Kubernetes' gate names");
}

LogLevel level_of(const std::string& name) {
  if (name == "debug") return LogLevel::Debug;
  if (name == "warning") return LogLevel::Warning;
  if (name == "error") return LogLevel::Error;
  return name == "off" ? LogLevel::Off : LogLevel::Info;
}

// What to run when a subcommand was parsed.
using Commands = std::map<CLI::App*, std::function<int()>>;

void add_servers(CLI::App& app, Commands& commands) {
  CLI::App* apiserver =
      app.add_subcommand("apiserver", "serve the Kubernetes API alone, without controllers");
  auto serve = std::make_shared<ApiServerCommand>();
  add_server_flags(*apiserver, serve->server, serve->feature_gates);
  apiserver->add_flag("--in-memory", serve->in_memory, "keep nothing on disk");
  commands.emplace(apiserver, [serve] { return run_apiserver(std::move(*serve)); });

  CLI::App* up = app.add_subcommand("up", "run a whole control plane in this process");
  auto whole = std::make_shared<UpCommand>();
  add_server_flags(*up, whole->server, whole->feature_gates);
  up->add_flag("--in-memory", whole->in_memory, "keep nothing on disk");
  up->add_option("-f,--file", whole->files, "objects to create: a file, a folder or -");
  up->add_option("--nodes", whole->nodes, "how many nodes to simulate");
  up->add_option("--nodes-dir", whole->nodes_directory, "where drivers find the nodes' plugin sockets");
  up->add_flag("--watch-placements", whole->watch_placements, "print each placement as it happens");
  commands.emplace(up, [whole] { return run_up(std::move(*whole)); });
}

void add_parts(CLI::App& app, Commands& commands) {
  CLI::App* scheduler = app.add_subcommand("scheduler", "place pods of a cluster elsewhere");
  auto places = std::make_shared<PartCommand>();
  add_part_flags(*scheduler, *places);
  add_election_flags(*scheduler, *places);
  const auto bind_too = [places](std::int64_t) { places->part = Part::SchedulerWithBinder; };
  scheduler->add_flag_function("--with-binder", bind_too, "bind in the same process");
  scheduler->add_option("--scheduler-name", places->scheduler_names, "schedulerName of the pods it places");
  commands.emplace(scheduler, [places] { return run_part(*places); });

  CLI::App* binder = app.add_subcommand("binder", "carry out bind requests of a cluster elsewhere");
  auto binds = std::make_shared<PartCommand>();
  binds->part = Part::Binder;
  add_part_flags(*binder, *binds);
  add_election_flags(*binder, *binds);
  commands.emplace(binder, [binds] { return run_part(*binds); });

  CLI::App* agent = app.add_subcommand("node-agent", "report the health of one node's devices");
  auto reports = std::make_shared<PartCommand>();
  reports->part = Part::NodeAgent;
  reports->leader_elect = false;
  add_part_flags(*agent, *reports);
  agent->add_option("--node", reports->node, "name of the node")->required();
  agent->add_option("--nodes-dir", reports->nodes_directory, "where drivers find the node's plugin sockets");
  commands.emplace(agent, [reports] { return run_part(*reports); });
}

void add_tools(CLI::App& app, Commands& commands) {
  CLI::App* plan = app.add_subcommand("plan", "decide offline what would happen to every pending pod");
  auto planned = std::make_shared<PlanCommand>();
  add_plan_flags(*plan, *planned);
  commands.emplace(plan, [planned] { return run_plan(*planned); });

  CLI::App* cel = app.add_subcommand("cel", "evaluate CEL: JSON lines on standard input, answers on output");
  commands.emplace(cel, run_cel);

  CLI::App* bench = app.add_subcommand("bench", "measure this machine end to end");
  auto measured = std::make_shared<BenchCommand>();
  bench->add_option("name", measured->name, "dra-fill")->required();
  bench->add_option("-o,--output", measured->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}));
  commands.emplace(bench, [measured] { return run_bench(*measured); });

  CLI::App* version = app.add_subcommand("version", "print the version");
  commands.emplace(version, [] {
    std::printf("berth %s (Kubernetes API %s)\n", kBerthVersion, kKubernetesVersion);
    return 0;
  });
}

int run(int argc, char** argv) {
  CLI::App app("Berth: an accelerator-workload scheduler for Kubernetes", "berth");
  app.require_subcommand(1);
  app.fallthrough();
  std::string log_level = "info", log_format = "text";
  add_logging(app, log_level, log_format);
  Commands commands;
  add_servers(app, commands);
  add_parts(app, commands);
  add_tools(app, commands);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int shown = app.exit(error);
    return shown == 0 ? 0 : 2;
  }
  configure_log(level_of(log_level), log_format == "json" ? LogFormat::Json : LogFormat::Text);
  for (const auto& [parsed, run_command] : commands)
    if (*parsed) return run_command();
  return 2;
}

}  // namespace
}  // namespace berth::cli

int main(int argc, char** argv) {
  return berth::cli::run(argc, argv);
}
