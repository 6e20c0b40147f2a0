// `berth simulate`: the scheduler's decisions in virtual time.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

void add_simulate(CLI::App& app, Commands& commands, const placement::MakePlugins& plugins);

}  // namespace berth::cli
