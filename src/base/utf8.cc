#include "base/utf8.h"

#include <cstring>

namespace berth {
namespace {

// The code point at the front and its length; length 0 when the bytes are not UTF-8.
struct Decoded {
  std::uint32_t code = 0xFFFD;
  std::size_t length = 0;
};

Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  std::uint32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

// Of nearly all texts, their length or a few bytes less.
std::size_t ascii_prefix(std::string_view text) {
  std::size_t size = 0;
  for (std::uint64_t word = 0; size + sizeof(word) <= text.size(); size += sizeof(word)) {
    std::memcpy(&word, text.data() + size, sizeof(word));
    if ((word & 0x8080808080808080u) != 0) return size;
  }
  while (size < text.size() && static_cast<unsigned char>(text[size]) < 0x80) ++size;
  return size;
}

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    text.remove_prefix(ascii_prefix(text));
    if (text.empty()) return true;
    const Decoded next = decode(text);
    if (next.length == 0) return false;
    text.remove_prefix(next.length);
  }
  return true;
}

void append_code_point(std::string& out, std::uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

std::vector<std::uint32_t> code_points(std::string_view text) {
  std::vector<std::uint32_t> codes;
  while (!text.empty()) {
    const Decoded next = decode(text);
    codes.push_back(next.code);
    text.remove_prefix(next.length == 0 ? 1 : next.length);
  }
  return codes;
}

std::string encode_utf8(const std::uint32_t* begin, const std::uint32_t* end) {
  std::string out;
  for (; begin != end; ++begin) append_code_point(out, *begin);
  return out;
}

std::size_t byte_offset(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index)
    for (++at; at < text.size() && !begins_character(text[at]);) ++at;
  return at;
}

std::size_t cut_offset(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text.size();
  while (bytes_max > 0 && !begins_character(text[bytes_max])) --bytes_max;
  return bytes_max;
}

}  // namespace berth
