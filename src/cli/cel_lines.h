// The lines of `berth cel`: a JSON request in, its answer out.
//
// Pure, apart from read_line, which reads the given file. Source: outer surface, `berth cel`.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::cli {

// A longer line is answered with an error.
inline constexpr std::size_t kCelLineBytesMax = 16u << 20;

// The answer to one line. It has a member "error" when the line is no request, and when the expression fails
// to compile or to run.
Json answer_cel(std::string_view line);
// The answer to a line that is longer than kCelLineBytesMax.
Json answer_too_long();

// The next line without its newline, truncated one byte past `bytes_max`: the rest is read and dropped. False
// at the end of the input.
bool read_line(std::FILE* input, std::size_t bytes_max, std::string& line);

}  // namespace berth::cli
