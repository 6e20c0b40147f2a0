// The commands of `berth`: the flags of each, and the function that runs it.
#pragma once

#include <functional>
#include <map>

#include "cli/configuration.h"

namespace CLI {
class App;
}

namespace berth::cli {

// By subcommand. Called with the flags before it; returns the exit code.
using Commands = std::map<CLI::App*, std::function<int(const GivenFlags&)>>;

// The log flags, which every command has. `given` outlives the parsing.
void add_log_flags(CLI::App& app, GivenFlags& given);

// A component, which reads a configuration: every row that it knows becomes a flag. `make` gives its
// scheduler plugins.
void add_component(CLI::App& app, Commands& commands, Component component, const char* what,
                   std::function<int(const Configuration&)> run, const placement::MakePlugins& make);

// A command that reads no configuration apart from the log flags. Its own file adds its flags
// (plan_command.cc); `run` owns their values.
void add_tool(CLI::App* command, Commands& commands, std::function<int()> run);

}  // namespace berth::cli
