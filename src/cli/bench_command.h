// `berth bench NAME`: end-to-end measurements on the embedded control plane.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

void add_bench(CLI::App& app, Commands& commands);

}  // namespace berth::cli
