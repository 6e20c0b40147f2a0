// The lines of `berth cel`: a request in JSON comes in, its answer goes out.
//
// Pure but for read_line, which reads what it is given. Source: outer surface, `berth cel`.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::cli {

// One line longer than this is answered with an error.
inline constexpr std::size_t kCelLineBytesMax = 16u << 20;

// The answer to one line. It has a member "error" when the line is no request, and when the expression fails
// to compile or to run.
Json answer_cel(std::string_view line);
// The answer to a line that is longer than kCelLineBytesMax.
Json answer_too_long();

// The next line without its newline, cut off one byte past `bytes_max`: the rest is read, but not kept. False
// at the end of the input.
bool read_line(std::FILE* input, std::size_t bytes_max, std::string& line);

}  // namespace berth::cli
