#include "base/printable.h"

#include <algorithm>

#include "base/hex.h"
#include "base/utf8.h"

namespace berth {
namespace {

bool steers(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void append_written_out(std::string& out, std::uint32_t code) {
  out += code < 0x100 ? "\\x" : "\\u";
  if (code >= 0x100) append_hex(out, static_cast<unsigned char>(code >> 8), kHexLower);
  append_hex(out, static_cast<unsigned char>(code), kHexLower);
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

enum class Blanks { Kept, Spaces };

std::string shown(std::string_view text, Blanks blanks) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  for (const std::uint32_t code : code_points(text)) {
    if (code == '\n' || code == '\t')
      out += blanks == Blanks::Kept ? static_cast<char>(code) : ' ';
    else if (steers(code))
      append_written_out(out, code);
    else
      append_code_point(out, code);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return shown(text, Blanks::Kept);
}

std::string printable_line(std::string_view text) {
  return shown(text, Blanks::Spaces);
}

Json printable_lines(const Json& document) {
  if (document.is_string()) return printable_line(document.as_string());
  if (document.is_object()) {
    Json out = Json::object({});
    for (const JsonMember& member : document.as_object()) out[member.key] = printable_lines(member.value);
    return out;
  }
  if (!document.is_array()) return document;
  Json out = Json::array();
  for (const Json& item : document.as_array()) out.as_array().push_back(printable_lines(item));
  return out;
}

}  // namespace berth
