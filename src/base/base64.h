// Base64 of RFC 4648: the standard form with padding, and the URL-safe form without.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

inline constexpr std::string_view kBase64Alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64_encode(std::string_view bytes);
// Skips white space. Refuses other characters, wrong padding and a truncated text.
Result<std::string> base64_decode(std::string_view text);

// With - and _ for + and /, without padding.
std::string base64url_encode(std::string_view bytes);
Result<std::string> base64url_decode(std::string_view text);

}  // namespace berth
