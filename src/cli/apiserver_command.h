// `berth apiserver`: the Kubernetes API alone.
#pragma once

#include "cli/configuration.h"

namespace berth::cli {

// Serves until SIGINT or SIGTERM. Returns the exit code.
int run_apiserver(const Configuration& configuration);

}  // namespace berth::cli
