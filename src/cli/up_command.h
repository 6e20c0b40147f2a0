// `berth up`: a whole control plane in one process.
#pragma once

#include "cli/configuration.h"
#include "cli/plugins.h"

namespace berth::cli {

// Runs until SIGINT or SIGTERM, with these binder plugins, which also look at pods when they are created.
// Returns the exit code.
int run_up(const Configuration& configuration, const Plugins& plugins);

}  // namespace berth::cli
