// The string formats that a schema may demand.
//
// Pure, any thread. Cost: one pass over the text. Source: the formats of apiextensions-apiserver 1.37, and
// what Go's parsers behind them accept; looser only where it says so.
#pragma once

#include <string>
#include <string_view>

#include "crd/schema.h"

namespace berth::crd {

// The format as it is checked for values of this type; empty for one that is not checked, as most are.
std::string checked_format(Schema::Type type, std::string_view format);

// Whether the text has the format, one that checked_format() returned for strings.
bool has_format(std::string_view text, std::string_view format);

}  // namespace berth::crd
