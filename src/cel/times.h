// CEL's timestamps and durations: nanosecond exact, years 1 to 9999. Texts are RFC 3339 and Go's durations.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace berth::cel {

bool in_range(Instant instant);
std::optional<Instant> parse_instant(std::string_view text);
std::string instant_text(Instant instant);
// "1h30m", "-1.5s", "0".
std::optional<std::int64_t> parse_nanos(std::string_view text);
// "5400s", "1.5s".
std::string duration_text(std::int64_t nanos);

}  // namespace berth::cel
