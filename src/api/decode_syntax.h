// Properties of JSON text that a parser's tree no longer has. Slow; only for error messages.
//
// Pure, any thread. Cost: one pass over the text; depth is bounded by kJsonDepthMax.
#pragma once

#include <string>
#include <string_view>

namespace berth::api {

// Why `text` is no JSON, in the words of Go's decoder; empty for valid JSON. Differs from a full validation
// only in that UTF-8 is not checked.
std::string json_syntax_error(std::string_view text);

// `text`, which is JSON, with ".0" after the integers that no 64-bit integer holds: parsers then read a
// double.
std::string with_long_integers_as_doubles(std::string_view text);

// The number as written at `path` ("spec.containers[0].x"); empty when absent. `text` is JSON.
std::string_view raw_number_at(std::string_view text, std::string_view path);

}  // namespace berth::api
