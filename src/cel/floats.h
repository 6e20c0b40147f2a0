// The text of a floating-point number, by the grammar of Go's strconv.ParseFloat, as cel-go's double() reads
// it.
#pragma once

#include <optional>
#include <string_view>

namespace berth::cel {

// Nothing when `text` is no number, or one beyond the largest. Cost: linear.
std::optional<double> parse_float(std::string_view text);

}  // namespace berth::cel
