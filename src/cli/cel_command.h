// `berth cel`: CEL expressions, one JSON line in, one out, in the same order, flushed per line.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace berth::cli {

// One line longer than this is answered with an error.
inline constexpr std::size_t kCelLineBytesMax = 16u << 20;

// The answer to one line, without the newline.
std::string answer_cel(std::string_view line);
// What it says of a line that is longer than kCelLineBytesMax; such a line is read on, but not kept.
std::string answer_too_long();
// The next line without its newline, cut off one byte past `bytes_max`; false at the end of the input.
bool read_line(std::FILE* input, std::size_t bytes_max, std::string& line);

// Standard input to standard output. 1 when a line was no request or an expression failed to compile or run;
// else 0.
int run_cel();

}  // namespace berth::cli
