#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace berth {
namespace {

// -1 for a character outside the alphabet.
int value_of(char c) {
  const std::size_t found = kBase64Alphabet.find(c);
  return found == std::string_view::npos ? -1 : static_cast<int>(found);
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= count ? kBase64Alphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  std::string bytes;
  std::uint32_t group = 0;
  int digits = 0, pads = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    const int value = c == '=' ? 0 : value_of(c);
    pads += c == '=';
    if (value < 0 || pads > 2 || (pads > 0 && c != '=') || (c == '=' && digits < 2))
      return Error(ErrorCode::Invalid, "not base64");
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (++digits < 4) continue;
    for (int k = 0; k < 3 - pads; ++k) bytes += static_cast<char>(group >> (16 - 8 * k) & 255);
    digits = 0;
    group = 0;
  }
  if (digits != 0) return Error(ErrorCode::Invalid, "not base64: it ends early");
  return bytes;
}

std::string base64url_encode(std::string_view bytes) {
  std::string text = base64_encode(bytes);
  text.erase(text.find_last_not_of('=') + 1);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

Result<std::string> base64url_decode(std::string_view text) {
  std::string standard(text);
  if (standard.find_first_of("+/= \t\r\n") != std::string::npos)
    return Error(ErrorCode::Invalid, "not base64");
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  standard.append((4 - standard.size() % 4) % 4, '=');
  return base64_decode(standard);
}

}  // namespace berth
