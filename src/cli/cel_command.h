// `berth cel`: CEL expressions, one JSON line in, one out, in the same order, flushed per line.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

// Standard input to standard output. 1 when a line was no request or an expression failed to compile or run;
// else 0.
void add_cel(CLI::App& app, Commands& commands);

}  // namespace berth::cli
