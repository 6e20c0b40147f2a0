// `berth plan`: what would happen to every pending pod of the objects in files.
#pragma once

#include "cli/commands.h"
#include "placement/framework.h"

namespace berth::cli {

// 0: everything is placed or gated. 1: something is not, and the output is complete; or the input is bad,
// with file, document, line, object and field on stderr. 2: wrong usage.
// `plugins`: the scheduler's.
void add_plan(CLI::App& app, Commands& commands, const placement::MakePlugins& plugins);

}  // namespace berth::cli
