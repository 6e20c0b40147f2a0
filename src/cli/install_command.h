// `berth crds`, `berth install`, `berth uninstall`: what Berth consists of on a cluster.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

void add_install(CLI::App& app, Commands& commands);

}  // namespace berth::cli
