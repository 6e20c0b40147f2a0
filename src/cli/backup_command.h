// `berth backup` and `berth restore`: the objects of a data directory as one file, and back.
#pragma once

#include "cli/commands.h"

namespace berth::cli {

// 0: the file, or the directory, is there and was checked. 1: nothing was made; the reason is on stderr.
void add_backup(CLI::App& app, Commands& commands);
void add_restore(CLI::App& app, Commands& commands);

}  // namespace berth::cli
