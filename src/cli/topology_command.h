// `berth topology`: the label hierarchies of a cluster's nodes, and the Topology object that follows.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

void add_topology(CLI::App& app, Commands& commands);

}  // namespace berth::cli
