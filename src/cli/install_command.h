// `berth crds`, `berth install`, `berth uninstall`: Berth's objects on a cluster.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

void add_install(CLI::App& app, Commands& commands);

}  // namespace berth::cli
