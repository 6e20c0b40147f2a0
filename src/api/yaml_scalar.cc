#include "api/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace berth::api {
namespace {

struct Word {
  std::string_view text;
  bool value;
};

constexpr std::array<Word, 22> kBooleans = {
    {{"y", true},      {"Y", true},    {"yes", true},  {"Yes", true}, {"YES", true},    {"true", true},
     {"True", true},   {"TRUE", true}, {"on", true},   {"On", true},  {"ON", true},     {"n", false},
     {"N", false},     {"no", false},  {"No", false},  {"NO", false}, {"false", false}, {"False", false},
     {"FALSE", false}, {"off", false}, {"Off", false}, {"OFF", false}}};
constexpr std::array<std::string_view, 5> kNulls = {"", "~", "null", "Null", "NULL"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Go's ParseInt with base 0: 0x, 0o, 0b, and a bare leading zero for octal.
std::optional<Json> integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    text.remove_prefix(mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1);
  }
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  const std::uint64_t limit = static_cast<std::uint64_t>(INT64_MAX) + (negative ? 1 : 0);
  if (magnitude > limit) {
    if (negative) return std::nullopt;
    return Json(static_cast<double>(magnitude));
  }
  return Json(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool looks_like_float(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - from;
  };
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  const std::size_t whole = digits();
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') ++at, fraction = digits();
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] | 0x20) == 'e') {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

std::optional<Json> real(std::string_view text) {
  if (!looks_like_float(text)) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  constexpr double kExact = 9007199254740992.0;
  // JSON text of a whole number has no point.
  if (value > -kExact && value < kExact && value == static_cast<double>(static_cast<std::int64_t>(value)))
    return Json(static_cast<std::int64_t>(value));
  return Json(value);
}

}  // namespace

Json plain_yaml_scalar(std::string_view text) {
  if (std::find(kNulls.begin(), kNulls.end(), text) != kNulls.end()) return Json();
  for (const Word& word : kBooleans)
    if (word.text == text) return Json(word.value);
  const char first = text.front();
  if (is_digit(first) || first == '-' || first == '+' || first == '.') {
    std::string plain(text);
    if (first != '.') std::erase(plain, '_');
    if (first != '.')
      if (std::optional<Json> number = integer(plain)) return *std::move(number);
    if (std::optional<Json> number = real(plain)) return *std::move(number);
  }
  return Json(text);
}

}  // namespace berth::api
