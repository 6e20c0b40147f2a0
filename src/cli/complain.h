// The message of a failed command.
#pragma once

#include "base/result.h"

namespace berth::cli {

// Prints the error on standard error and returns the exit code for it: 2 for a wrong flag, else 1.
int complain(const Error& error);

}  // namespace berth::cli
