#include "cli/berth.h"

#include <CLI/CLI.hpp>

#include <cstdio>

#include "cli/apiserver_command.h"
#include "cli/backup_command.h"
#include "cli/bench_command.h"
#include "cli/cel_command.h"
#include "cli/component_command.h"
#include "cli/doctor_command.h"
#include "cli/explain_command.h"
#include "cli/install_command.h"
#include "cli/plan_command.h"
#include "cli/simulate_command.h"
#include "cli/topology_command.h"
#include "cli/up_command.h"
#include "cli/version.h"

namespace berth::cli {
namespace {

// Null for an unknown name.
const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&name](const CLI::App* one) { return one->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

int complain_unknown(const std::string& command) {
  std::fprintf(stderr, "berth: there is no command \"%s\"; `berth help` lists them\n", command.c_str());
  return 2;
}

void add_components(CLI::App& app, Commands& commands, const Plugins& plugins) {
  struct Row {
    Component component;
    const char* what;
    std::function<int(const Configuration&)> run;
  };
  const auto component = [&plugins](Component which) {
    return [which, &plugins](const Configuration& config) { return run_component(which, config, plugins); };
  };
  const Row rows[] = {
      {Component::ApiServer, "serve the Kubernetes API alone, without controllers", run_apiserver},
      {Component::Up, "run a whole control plane in this process",
       [&plugins](const Configuration& config) { return run_up(config, plugins); }},
      {Component::Scheduler, "schedule pods of a cluster, found by its kubeconfig",
       component(Component::Scheduler)},
      {Component::Binder, "bind pods of a cluster, found by its kubeconfig", component(Component::Binder)},
      {Component::NodeAgent, "report the health of one node's devices", component(Component::NodeAgent)},
  };
  for (const Row& row : rows)
    add_component(app, commands, row.component, row.what, row.run, plugins.scheduler);
}

int print_version() {
  std::printf("berth %s (Kubernetes API %s)\n", kBerthVersion, kKubernetesVersion);
  return 0;
}

// Before parsing: CLI11 would answer for the command `help` itself.
int print_help(const CLI::App& app, const std::string& command) {
  const CLI::App* of = command.empty() ? &app : find_command(app, command);
  if (!of) return complain_unknown(command);
  std::fputs(of->help(of == &app ? "" : app.get_name()).c_str(), stdout);
  return 0;
}

void add_tools(CLI::App& app, Commands& commands, const Plugins& plugins) {
  add_explain(app, commands, plugins.scheduler);
  add_plan(app, commands, plugins.scheduler);
  add_simulate(app, commands, plugins.scheduler);
  add_cel(app, commands);
  add_bench(app, commands);
  add_backup(app, commands);
  add_restore(app, commands);
  add_install(app, commands);
  add_doctor(app, commands);
  add_topology(app, commands);
  add_tool(app.add_subcommand("version", "print the version"), commands, print_version);
  app.add_subcommand("help", "print the commands; `help COMMAND` prints its flags");
}

}  // namespace

int run_berth(int argc, char** argv, const Plugins& plugins) {
  CLI::App app("Berth: an accelerator-workload scheduler for Kubernetes", "berth");
  app.require_subcommand(1);
  app.fallthrough();
  GivenFlags before;
  add_log_flags(app, before);
  Commands commands;
  add_components(app, commands, plugins);
  add_tools(app, commands, plugins);
  // CLI11's message says that a subcommand is missing, not which one is unknown.
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return 2;
  }
  if (first == "help") return print_help(app, argc > 2 ? argv[2] : "");
  if (first == "--version" || first == "-v") return print_version();
  if (!first.starts_with('-') && !find_command(app, first)) return complain_unknown(first);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int shown = app.exit(error);
    return shown == 0 ? 0 : 2;
  }
  for (const auto& [parsed, run_parsed] : commands)
    if (*parsed) return run_parsed(before);
  return 2;
}

}  // namespace berth::cli
