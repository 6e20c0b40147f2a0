// UTF-8: check, count, decode and encode code points.
//
// Cost: linear. The decoders read a byte that is not UTF-8 as U+FFFD, as Go does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Refuses overlong forms, surrogates and code points beyond U+10FFFF.
bool is_utf8(std::string_view text);
void append_code_point(std::string& out, std::uint32_t code);
std::vector<std::uint32_t> code_points(std::string_view text);
std::string encode_utf8(const std::uint32_t* begin, const std::uint32_t* end);
// The byte offset of the code point at `index`; the size of the text when there are fewer.
std::size_t byte_offset(std::string_view text, std::size_t index);
// Where to cut a text so that at most `bytes_max` bytes and no part of a character are left.
std::size_t cut_offset(std::string_view text, std::size_t bytes_max);

}  // namespace berth
