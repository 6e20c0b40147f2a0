// Character classes and words of ASCII, independent of the locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

constexpr bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_lower_or_digit(char c) {
  return is_lower(c) || is_digit(c);
}
constexpr bool is_alphanumeric(char c) {
  return is_lower_or_digit(c) || is_upper(c);
}

// Without the blanks around it.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The words that Go's strconv.ParseBool reads; none: another text.
constexpr std::optional<bool> parse_bool(std::string_view text) {
  for (const std::string_view word : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == word) return true;
  for (const std::string_view word : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == word) return false;
  return std::nullopt;
}

// Lower-cases A to Z.
inline std::string to_lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered)
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  return lowered;
}

}  // namespace berth
