// `berth explain pod|podgroup NAME`: why it waits, or why it is on its node.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

// Reads the objects from the API server and the decision from the scheduler's record; prints. `make` gives
// the scheduler's plugins.
void add_explain(CLI::App& app, Commands& commands, const placement::MakePlugins& make);

}  // namespace berth::cli
