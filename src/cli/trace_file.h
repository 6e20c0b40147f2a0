// Files of public traces: CSV, also with gzip.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::cli {

// Of one file, unpacked.
inline constexpr std::size_t kTraceBytesMax = std::size_t{256} << 20;

// The text of the file; one that begins as gzip does is unpacked. The error's path is the file's.
Result<std::string> read_trace_file(const std::string& file);

}  // namespace berth::cli
