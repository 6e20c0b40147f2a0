// `berth scheduler`, `berth binder` and `berth node-agent`: a component of the control plane against an API
// server elsewhere.
#pragma once

#include "cli/configuration.h"

namespace berth::cli {

// Runs until SIGINT or SIGTERM. Returns the exit code.
int run_component(Component component, const Configuration& configuration);

}  // namespace berth::cli
