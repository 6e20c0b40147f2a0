#include "cli/commands.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "base/log.h"
#include "cli/complain.h"
#include "cli/field_value.h"

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
  // A switch without a value would otherwise get its default.
  const bool toggle = std::holds_alternative<SwitchField>(field.type);
  if (!toggle) option->default_str(default_text(field, component));
  option->expected(toggle ? 0 : 1, many ? CLI::detail::expected_max_vector_size : 1);
  if (!many) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
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

// A command that reads a BerthConfiguration.
struct ComponentCommand {
  Component component;
  std::function<int(const Configuration&)> run;
  placement::MakePlugins make;
  std::string file;
  bool print = false;
  GivenFlags flags;
};

int run_command(ComponentCommand& command, const GivenFlags& before) {
  command.flags.insert(before.begin(), before.end());
  const Result<Configuration> config =
      effective_configuration(command.component, command.file, command.flags, command.make);
  if (!config) return complain(config.error());
  if (command.print) {
    std::fputs(configuration_text(command.component, *config).c_str(), stdout);
    return 0;
  }
  start_log(*config);
  for (const std::string& note : config->kube_scheduler.notes) log(LogLevel::Info, note);
  return command.run(*config);
}

}  // namespace

void add_log_flags(CLI::App& app, GivenFlags& given) {
  for (const ConfigurationField& field : configuration_fields())
    if (field.path.starts_with(kLoggingSection)) add_flag(app, field, Component::Up, given);
}

void add_component(CLI::App& app, Commands& commands, Component component, const char* what,
                   std::function<int(const Configuration&)> run, const placement::MakePlugins& make) {
  CLI::App* command = app.add_subcommand(std::string(name_of(component)), what);
  auto config =
      std::make_shared<ComponentCommand>(ComponentCommand{component, std::move(run), make, "", false, {}});
  command->add_option(
      "--config", config->file,
      "a file with a BerthConfiguration, a KubeSchedulerConfiguration, or both; flags override it");
  command->add_flag("--print-config", config->print, "print the effective configuration and exit");
  for (const ConfigurationField& field : configuration_fields())
    if (field.known_to(component)) add_flag(*command, field, component, config->flags);
  commands.emplace(command, [config](const GivenFlags& before) { return run_command(*config, before); });
}

void add_tool(CLI::App* command, Commands& commands, std::function<int()> run) {
  commands.emplace(command, [run = std::move(run)](const GivenFlags& before) {
    Configuration config = default_configuration(Component::Up);
    for (const auto& [field, texts] : before)
      if (Status set = set_from_flag(*field, texts, config); !set)
        return complain(Error(ErrorCode::Invalid, std::string(field->long_flag()), set.error().message()));
    start_log(config);
    return run();
  });
}

}  // namespace berth::cli
