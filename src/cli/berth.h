// The program `berth` as a function, for programs that have binder plugins of their own.
//
// Such a program links the library berth_cli, adds its plugins to PluginRegistry::in_tree() and passes both
// on; it then has every command and flag of `berth` (docs/writing-binder-plugins.md).
#pragma once

#include "binding/plugin.h"

namespace berth::cli {

// Runs the command that the arguments name. Returns the exit code: 0 done, 1 failed, 2 wrong usage.
// `plugins`: for `up`, `binder` and `scheduler --with-binder`.
int run_berth(int argc, char** argv,
              const binding::PluginRegistry& plugins = binding::PluginRegistry::in_tree());

}  // namespace berth::cli
