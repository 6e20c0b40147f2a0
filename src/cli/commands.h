// The commands of `berth`: the flags of each, and what runs when one was parsed.
#pragma once

#include <functional>
#include <map>

#include "cli/configuration.h"

namespace CLI {
class App;
}

namespace berth::cli {

// By subcommand. Called with the flags that stood before it; returns the exit code.
using Commands = std::map<CLI::App*, std::function<int(const GivenFlags&)>>;

// The flags of the log, which every command knows. `given` outlives the parsing.
void add_log_flags(CLI::App& app, GivenFlags& given);

// A part, which reads a BerthConfiguration: every row that it knows becomes a flag.
void add_component(CLI::App& app, Commands& commands, Component component, const char* what,
                   std::function<int(const Configuration&)> run);

// A command that reads no configuration but the flags of the log. Its own flags are added by its own file
// (plan_command.cc); what they write to belongs to `run`.
void add_tool(CLI::App* command, Commands& commands, std::function<int()> run);

}  // namespace berth::cli
