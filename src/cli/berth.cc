#include "cli/berth.h"

#include <CLI/CLI.hpp>

#include <cstdio>

#include "cli/apiserver_command.h"
#include "cli/bench_command.h"
#include "cli/cel_command.h"
#include "cli/component_command.h"
#include "cli/doctor_command.h"
#include "cli/explain_command.h"
#include "cli/install_command.h"
#include "cli/plan_command.h"
#include "cli/up_command.h"
#include "cli/version.h"

namespace berth::cli {
namespace {

void add_components(CLI::App& app, Commands& commands, const binding::PluginRegistry& plugins) {
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
      {Component::Scheduler, "place pods of a cluster elsewhere", component(Component::Scheduler)},
      {Component::Binder, "carry out bind requests of a cluster elsewhere", component(Component::Binder)},
      {Component::NodeAgent, "report the health of one node's devices", component(Component::NodeAgent)},
  };
  for (const Row& row : rows) add_component(app, commands, row.component, row.what, row.run);
}

void add_tools(CLI::App& app, Commands& commands) {
  add_explain(app, commands);
  add_plan(app, commands);
  add_cel(app, commands);
  add_bench(app, commands);
  add_install(app, commands);
  add_doctor(app, commands);
  CLI::App* version = app.add_subcommand("version", "print the version");
  add_tool(version, commands, [] {
    std::printf("berth %s (Kubernetes API %s)\n", kBerthVersion, kKubernetesVersion);
    return 0;
  });
}

}  // namespace

int run_berth(int argc, char** argv, const binding::PluginRegistry& plugins) {
  CLI::App app("Berth: an accelerator-workload scheduler for Kubernetes", "berth");
  app.require_subcommand(1);
  app.fallthrough();
  GivenFlags before;
  add_log_flags(app, before);
  Commands commands;
  add_components(app, commands, plugins);
  add_tools(app, commands);
  // CLI11's message says that a subcommand is missing, not which one is unknown.
  const std::string_view first = argc > 1 ? argv[1] : "-";
  const auto is_first = [first](const CLI::App* command) { return command->get_name() == first; };
  if (!first.starts_with('-') && app.get_subcommands(is_first).empty()) {
    std::fprintf(stderr, "berth: there is no command \"%s\"; `berth --help` lists them\n", argv[1]);
    return 2;
  }
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
