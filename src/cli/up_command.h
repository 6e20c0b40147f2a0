// `berth up`: a whole control plane in one process.
#pragma once

#include "cli/configuration.h"

namespace berth::cli {

// Runs until SIGINT or SIGTERM. Returns the exit code.
int run_up(const Configuration& configuration);

}  // namespace berth::cli
