#include "base/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace berth {
namespace {

// Twice the limit still fits.
constexpr __int128 kLimit = (static_cast<__int128>(1) << 126) - 1;

struct Suffix {
  std::string_view text;
  int exponent;  // of 10, or of 2 when binary
  Quantity::Format format;
};

constexpr std::array<Suffix, 16> kSuffixes = {{
    {"n", -9, Quantity::Format::DecimalSI},
    {"u", -6, Quantity::Format::DecimalSI},
    {"m", -3, Quantity::Format::DecimalSI},
    {"", 0, Quantity::Format::DecimalSI},
    {"k", 3, Quantity::Format::DecimalSI},
    {"M", 6, Quantity::Format::DecimalSI},
    {"G", 9, Quantity::Format::DecimalSI},
    {"T", 12, Quantity::Format::DecimalSI},
    {"P", 15, Quantity::Format::DecimalSI},
    {"E", 18, Quantity::Format::DecimalSI},
    {"Ki", 10, Quantity::Format::BinarySI},
    {"Mi", 20, Quantity::Format::BinarySI},
    {"Gi", 30, Quantity::Format::BinarySI},
    {"Ti", 40, Quantity::Format::BinarySI},
    {"Pi", 50, Quantity::Format::BinarySI},
    {"Ei", 60, Quantity::Format::BinarySI},
}};

__int128 times(__int128 value, __int128 factor) {
  __int128 product = 0;
  if (__builtin_mul_overflow(value, factor, &product) || product > kLimit) return kLimit;
  return product;
}

// ceil(value / 10^digits)
__int128 shrink(__int128 value, int digits) {
  bool inexact = false;
  for (; digits > 0 && value > 0; --digits) {
    inexact |= value % 10 != 0;
    value /= 10;
  }
  return value + (inexact ? 1 : 0);
}

__int128 scale_by_ten(__int128 value, int exponent) {
  if (exponent < 0) return shrink(value, -exponent);
  for (; exponent > 0 && value < kLimit && value > 0; --exponent) value = times(value, 10);
  return value;
}

Error invalid_quantity(std::string_view text) {
  return Error(ErrorCode::Invalid, "\"" + std::string(text.substr(0, 64)) +
                                       "\" is no quantity: write a number with at most one suffix, such as "
                                       "500m, 2, 1.5Gi or 3e6");
}

__int128 ceil_div(__int128 value, __int128 by) {
  const __int128 quotient = value / by;
  return quotient + (value % by > 0 ? 1 : 0);
}

std::int64_t clamp(__int128 value) {
  return static_cast<std::int64_t>(
      std::clamp<__int128>(value, static_cast<__int128>(INT64_MIN), static_cast<__int128>(INT64_MAX)));
}

std::string digits_of(__int128 value) {
  const bool negative = value < 0;
  unsigned __int128 rest = negative ? -static_cast<unsigned __int128>(value) : value;
  std::string text;
  do {
    text += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest > 0);
  if (negative) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

std::string_view suffix_for(Quantity::Format format, int exponent) {
  for (const Suffix& suffix : kSuffixes)
    if (suffix.exponent == exponent && (exponent == 0 || suffix.format == format)) return suffix.text;
  return "";
}

}  // namespace

Quantity operator+(Quantity a, Quantity b) {
  return Quantity::nanos(std::clamp(a.nanos_ + b.nanos_, -kLimit, kLimit),
                         a.is_zero() ? b.format_ : a.format_);
}

Quantity operator-(Quantity a, Quantity b) {
  return Quantity::nanos(std::clamp(a.nanos_ - b.nanos_, -kLimit, kLimit),
                         a.is_zero() ? b.format_ : a.format_);
}

std::int64_t Quantity::ceil_units() const {
  return clamp(ceil_div(nanos_, kNano));
}
std::int64_t Quantity::ceil_millis() const {
  return clamp(ceil_div(nanos_, kNano / 1000));
}

std::string Quantity::text() const {
  if (nanos_ == 0) return "0";
  __int128 mantissa = nanos_ / kNano;
  if (format_ == Format::BinarySI && is_integer() && (mantissa >= 1024 || mantissa <= -1024)) {
    int exponent = 0;
    for (; mantissa % 1024 == 0 && exponent < 60; exponent += 10) mantissa /= 1024;
    return digits_of(mantissa).append(suffix_for(Format::BinarySI, exponent));
  }
  mantissa = nanos_;
  int exponent = -9;
  for (; mantissa % 1000 == 0 && exponent < 18; exponent += 3) mantissa /= 1000;
  if (format_ == Format::DecimalExponent)
    return digits_of(mantissa) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
  return digits_of(mantissa).append(suffix_for(Format::DecimalSI, exponent));
}

Result<Quantity> parse_quantity(std::string_view text) {
  if (text.empty()) return invalid_quantity(text);
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);

  __int128 mantissa = 0;
  int decimals = 0, dropped = 0;
  bool after_point = false, inexact = false;
  for (; !rest.empty(); rest.remove_prefix(1)) {
    const char c = rest.front();
    if (c == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    if (mantissa <= kLimit / 10) {
      mantissa = mantissa * 10 + (c - '0');
      decimals += after_point;
    } else {
      inexact |= c != '0';
      dropped += !after_point;
    }
  }
  mantissa += inexact ? 1 : 0;

  int exponent = 9 + dropped - decimals;
  Quantity::Format format = Quantity::Format::DecimalSI;
  const bool has_exponent = rest.size() > 1 && (rest.front() == 'e' || rest.front() == 'E') && rest != "Ei";
  if (has_exponent) {
    std::string_view number = rest.substr(1);
    if (number.front() == '+') number.remove_prefix(1);
    int power = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), power);
    if (error != std::errc() || end != number.data() + number.size() || power > 1000 || power < -1000)
      return invalid_quantity(text);
    exponent += power;
    format = Quantity::Format::DecimalExponent;
  } else {
    const auto* suffix = std::find_if(kSuffixes.begin(), kSuffixes.end(),
                                      [&](const Suffix& candidate) { return candidate.text == rest; });
    if (suffix == kSuffixes.end()) return invalid_quantity(text);
    format = suffix->format;
    if (format == Quantity::Format::BinarySI)
      mantissa = times(mantissa, static_cast<__int128>(1) << suffix->exponent);
    else
      exponent += suffix->exponent;
  }
  const __int128 nanos = std::min(scale_by_ten(mantissa, exponent), kLimit);
  return Quantity::nanos(negative ? -nanos : nanos, format);
}

}  // namespace berth
