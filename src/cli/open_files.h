// How many files the process may have open: each connection is one.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace berth::cli {

// Files that a server has open besides its connections, generously.
inline constexpr std::size_t kOtherFilesMax = 256;

// Raises the soft limit of open files to the hard one. Refuses (Unavailable), after that, a limit that is too
// low for `connections`.
Status raise_open_files(std::size_t connections);

}  // namespace berth::cli
