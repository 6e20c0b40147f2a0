// Text from outside, for a terminal: what could steer the terminal is written out.
//
// Pure. Cost: linear. A name, message or annotation may hold escape codes: they would move the cursor, hide
// text or set the window's title.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace berth {

// Control characters but line breaks and tabs, line separators, and characters that turn the direction of
// writing become \x1b or \u202e; a byte that is not UTF-8 becomes U+FFFD.
std::string printable(std::string_view text);
// The same in one line: line breaks and tabs become blanks.
std::string printable_line(std::string_view text);
// The same of every string in the document; keys stay.
Json printable_lines(const Json& document);

}  // namespace berth
