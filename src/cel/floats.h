// Parses a floating-point number by the grammar of Go's strconv.ParseFloat, which cel-go's double() uses.
#pragma once

#include <optional>
#include <string_view>

namespace berth::cel {

// Nothing when `text` is not a number or is out of range. Cost: linear.
std::optional<double> parse_float(std::string_view text);

}  // namespace berth::cel
