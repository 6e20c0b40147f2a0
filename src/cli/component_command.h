// `berth scheduler`, `berth binder` and `berth node-agent`: a component of the control plane against an API
// server elsewhere.
#pragma once

#include "binding/plugin.h"
#include "cli/configuration.h"

namespace berth::cli {

// Runs until SIGINT or SIGTERM. Returns the exit code. `plugins`: of a binder.
int run_component(Component component, const Configuration& configuration,
                  const binding::PluginRegistry& plugins);

}  // namespace berth::cli
