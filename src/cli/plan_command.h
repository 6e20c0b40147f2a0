// `berth plan`: what would happen to every pending pod of the objects in files.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

// 0: everything is placed or gated. 1: something is not, and the output is complete; or the input is bad,
// with file, document, line, object and field on stderr. 2: wrong usage.
void add_plan(CLI::App& app, Commands& commands);

}  // namespace berth::cli
