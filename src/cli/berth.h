// The program `berth` as a function, for programs that have plugins of their own.
//
// Such a program links the library berth_cli, adds its plugins to Berth's and passes both on; it then has
// every command and flag of `berth` (docs/writing-binder-plugins.md, docs/writing-scheduler-plugins.md).
#pragma once

#include "cli/plugins.h"

namespace berth::cli {

// Runs the command that the arguments name. Returns the exit code: 0 done, 1 failed, 2 wrong usage.
int run_berth(int argc, char** argv, const Plugins& plugins = {});

}  // namespace berth::cli
