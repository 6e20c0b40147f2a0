// `berth doctor`: what prevents Berth from scheduling on a cluster.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

void add_doctor(CLI::App& app, Commands& commands);

}  // namespace berth::cli
