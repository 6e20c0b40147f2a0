// `berth scheduler`, `berth binder` and `berth node-agent`: a component of the control plane against an API
// server elsewhere.
#pragma once

#include "cli/configuration.h"
#include "cli/plugins.h"

namespace berth::cli {

// Runs until SIGINT or SIGTERM. Returns the exit code. `plugins`: of a binder.
int run_component(Component component, const Configuration& configuration, const Plugins& plugins);

}  // namespace berth::cli
