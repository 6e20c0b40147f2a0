#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>

#include "base/log.h"
#include "cli/apiserver_command.h"
#include "cli/bench_command.h"
#include "cli/cel_command.h"
#include "cli/complain.h"
#include "cli/component_command.h"
#include "cli/configuration.h"
#include "cli/explain_command.h"
#include "cli/field_value.h"
#include "cli/plan_command.h"
#include "cli/up_command.h"
#include "cli/version.h"
#include "dra/scoring.h"

namespace berth::cli {
namespace {

constexpr std::string_view kLoggingSection = "logging.";

void add_flag(CLI::App& command, const ConfigurationField& field, Component component, GivenFlags& given) {
  const auto take = [&field, &given](const std::vector<std::string>& texts) {
    given[&field] = texts;
    return true;
  };
  const std::string bounds = bounds_text(field);
  CLI::Option* option = command.add_option(
      std::string(field.flag), take, std::string(field.help) + (bounds.empty() ? "" : " (" + bounds + ")"));
  option->type_name(std::string(type_name(field)));
  const bool many =
      std::holds_alternative<ListField>(field.type) || std::holds_alternative<GatesField>(field.type);
  // A switch that stands alone would be given its default.
  const bool toggle = std::holds_alternative<SwitchField>(field.type);
  if (!toggle) option->default_str(default_text(field, component));
  option->expected(toggle ? 0 : 1, many ? CLI::detail::expected_max_vector_size : 1);
  if (!many) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
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

void start_log(const Configuration& config) {
  configure_log(level_of(config.log_level), config.log_format == "json" ? LogFormat::Json : LogFormat::Text);
}

// What to run when a subcommand was parsed, with the flags that stood before it.
using Commands = std::map<CLI::App*, std::function<int(const GivenFlags&)>>;

// A command that reads a BerthConfiguration.
struct ComponentCommand {
  Component component;
  std::function<int(const Configuration&)> run;
  std::string file;
  bool print = false;
  GivenFlags flags;
};

int run_command(ComponentCommand& command, const GivenFlags& before) {
  command.flags.insert(before.begin(), before.end());
  const Result<Configuration> config =
      effective_configuration(command.component, command.file, command.flags);
  if (!config) return complain(config.error());
  if (command.print) {
    std::fputs(configuration_text(command.component, *config).c_str(), stdout);
    return 0;
  }
  start_log(*config);
  return command.run(*config);
}

void add_components(CLI::App& app, Commands& commands) {
  struct Row {
    Component component;
    const char* what;
    std::function<int(const Configuration&)> run;
  };
  const auto component = [](Component which) {
    return [which](const Configuration& config) { return run_component(which, config); };
  };
  const Row rows[] = {
      {Component::ApiServer, "serve the Kubernetes API alone, without controllers", run_apiserver},
      {Component::Up, "run a whole control plane in this process", run_up},
      {Component::Scheduler, "place pods of a cluster elsewhere", component(Component::Scheduler)},
      {Component::Binder, "carry out bind requests of a cluster elsewhere", component(Component::Binder)},
      {Component::NodeAgent, "report the health of one node's devices", component(Component::NodeAgent)},
  };
  for (const Row& row : rows) {
    CLI::App* command = app.add_subcommand(std::string(name_of(row.component)), row.what);
    auto config = std::make_shared<ComponentCommand>(ComponentCommand{row.component, row.run, "", false, {}});
    command->add_option("--config", config->file, "a BerthConfiguration; flags change what it says");
    command->add_flag("--print-config", config->print, "print the effective configuration and end");
    for (const ConfigurationField& field : configuration_fields())
      if (field.known_to(row.component)) add_flag(*command, field, row.component, config->flags);
    commands.emplace(command, [config](const GivenFlags& before) { return run_command(*config, before); });
  }
}

// A command that reads no configuration but the flags of the log.
void add_tool(Commands& commands, CLI::App* command, std::function<int()> run) {
  commands.emplace(command, [run = std::move(run)](const GivenFlags& before) {
    Configuration config;
    for (const auto& [field, texts] : before)
      if (Status set = set_from_flag(*field, texts, config); !set)
        return complain(Error(ErrorCode::Invalid, std::string(field->long_flag()), set.error().message()));
    start_log(config);
    return run();
  });
}

void add_explain(CLI::App& app, Commands& commands) {
  CLI::App* explain = app.add_subcommand("explain", "tell why a pod or a group waits, or why it is there");
  auto asked = std::make_shared<ExplainCommand>();
  explain->add_option("kind", asked->kind, "pod or podgroup")->required();
  explain->add_option("name", asked->name, "its name")->required();
  explain->add_option("-n,--namespace", asked->ns, "without it the kubeconfig's");
  explain->add_option("--kubeconfig", asked->kubeconfig, "file; without it as kubectl");
  explain->add_option("--server", asked->server,
                      "URL of a scheduler's own pages, where the API server is not Berth's");
  explain->add_option("-o,--output", asked->output, "table, wide, json, yaml or name")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}));
  add_tool(commands, explain, [asked] { return run_explain(*asked); });
}

void add_tools(CLI::App& app, Commands& commands) {
  add_explain(app, commands);
  CLI::App* plan = app.add_subcommand("plan", "decide offline what would happen to every pending pod");
  auto planned = std::make_shared<PlanCommand>();
  add_plan_flags(*plan, *planned);
  add_tool(commands, plan, [planned] { return run_plan(*planned); });

  CLI::App* cel = app.add_subcommand("cel", "evaluate CEL: JSON lines on standard input, answers on output");
  add_tool(commands, cel, run_cel);

  CLI::App* bench = app.add_subcommand("bench", "measure this machine end to end");
  auto measured = std::make_shared<BenchCommand>();
  bench->add_option("name", measured->name, "dra-fill")->required();
  bench->add_option("-o,--output", measured->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}));
  add_tool(commands, bench, [measured] { return run_bench(*measured); });

  CLI::App* version = app.add_subcommand("version", "print the version");
  add_tool(commands, version, [] {
    std::printf("berth %s (Kubernetes API %s)\n", kBerthVersion, kKubernetesVersion);
    return 0;
  });
}

int run(int argc, char** argv) {
  CLI::App app("Berth: an accelerator-workload scheduler for Kubernetes", "berth");
  app.require_subcommand(1);
  app.fallthrough();
  GivenFlags before;
  for (const ConfigurationField& field : configuration_fields())
    if (field.path.substr(0, kLoggingSection.size()) == kLoggingSection)
      add_flag(app, field, Component::Up, before);
  Commands commands;
  add_components(app, commands);
  add_tools(app, commands);
  // CLI11 would say that a subcommand is missing, not which one it does not know.
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

}  // namespace
}  // namespace berth::cli

int main(int argc, char** argv) {
  return berth::cli::run(argc, argv);
}
