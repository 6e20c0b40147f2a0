// What a command says on standard error.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::cli {

// Prints the error on standard error and returns the exit code for it: 2 for a wrong flag, else 1.
int complain(const Error& error);
// Prints a line for people.
void tell(const std::string& text);

}  // namespace berth::cli
