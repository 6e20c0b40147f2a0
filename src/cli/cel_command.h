// `berth cel`: CEL expressions, one JSON line in, one out, in the same order, flushed per line.
#pragma once

#include <string>
#include <string_view>

namespace berth::cli {

// One line longer than this is answered with an error.
inline constexpr std::size_t kCelLineBytesMax = 16u << 20;

// The answer to one line, without the newline.
std::string answer_cel(std::string_view line);

// Standard input to standard output. 1 when a line was no request or an expression failed to compile or run;
// else 0.
int run_cel();

}  // namespace berth::cli
