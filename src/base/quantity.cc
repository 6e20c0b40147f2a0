#include "base/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace berth {
namespace {

using Format = Quantity::Format;

constexpr int kExponentMax = 1000;
// A larger number with a binary suffix is this one, as in the API.
constexpr __int128 kBinaryUnitsMax = INT64_MAX;
constexpr int kNanoDigits = 9;
constexpr __int128 kNanos = 1000000000;  // in a unit
constexpr __int128 kBinaryNanosMax = kBinaryUnitsMax * kNanos;

struct Suffix {
  std::string_view text;
  int exponent;  // of 10, or of 2 when binary
  Format format;
};

constexpr std::array<Suffix, 16> kSuffixes = {{
    {"n", -9, Format::DecimalSI},
    {"u", -6, Format::DecimalSI},
    {"m", -3, Format::DecimalSI},
    {"", 0, Format::DecimalSI},
    {"k", 3, Format::DecimalSI},
    {"M", 6, Format::DecimalSI},
    {"G", 9, Format::DecimalSI},
    {"T", 12, Format::DecimalSI},
    {"P", 15, Format::DecimalSI},
    {"E", 18, Format::DecimalSI},
    {"Ki", 10, Format::BinarySI},
    {"Mi", 20, Format::BinarySI},
    {"Gi", 30, Format::BinarySI},
    {"Ti", 40, Format::BinarySI},
    {"Pi", 50, Format::BinarySI},
    {"Ei", 60, Format::BinarySI},
}};
constexpr int kDecimalSuffixMax = 18;

// Of a number as it is written: mantissa · 10^-decimals, and more if `inexact`.
struct Digits {
  __int128 mantissa = 0;
  int decimals = 0;  // negative: zeros that the mantissa lacks
  bool inexact = false;
  bool any = false;  // a number without digits is 0
};

Digits read_digits(std::string_view& rest) {
  constexpr __int128 kFull = (static_cast<__int128>(1) << 126) / 10 - 1;
  Digits read;
  bool after_point = false;
  for (; !rest.empty(); rest.remove_prefix(1)) {
    const char c = rest.front();
    if (c == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    read.any = true;
    if (read.mantissa <= kFull) {
      read.mantissa = read.mantissa * 10 + (c - '0');
      read.decimals += after_point;
    } else {
      read.inexact |= c != '0';
      read.decimals -= !after_point;
    }
  }
  for (; read.decimals > 0 && !read.inexact && read.mantissa % 10 == 0; --read.decimals) read.mantissa /= 10;
  return read;
}

// The suffix of an exponent; nothing if it is none.
std::optional<Suffix> exponent_suffix(std::string_view rest) {
  if (rest.size() < 2 || (rest.front() != 'e' && rest.front() != 'E')) return std::nullopt;
  std::string_view number = rest.substr(1);
  if (number.front() == '+' && !number.starts_with("+-")) number.remove_prefix(1);
  int power = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), power);
  if (end != number.data() + number.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc()) power = number.front() == '-' ? -kExponentMax - 1 : kExponentMax + 1;
  return Suffix{rest, power, Format::DecimalExponent};
}

std::optional<Suffix> suffix_of(std::string_view rest) {
  const auto* found = std::find_if(kSuffixes.begin(), kSuffixes.end(),
                                   [&](const Suffix& candidate) { return candidate.text == rest; });
  return found == kSuffixes.end() ? exponent_suffix(rest) : std::optional(*found);
}

// |value| / 10^digits, rounded away from zero; `inexact`: the value is a little larger.
__int128 shrink(__int128 value, int digits, bool inexact = false) {
  for (; digits > 0 && value != 0; --digits) {
    inexact |= value % 10 != 0;
    value /= 10;
  }
  return value + (inexact ? 1 : 0);
}

// The API has no fast path for these suffixes, and its slow one wants a digit.
bool wants_digits(const Suffix& suffix) {
  return suffix.format == Format::BinarySI ? suffix.exponent > 40 : suffix.exponent < -9;
}

// Nano units of `read` · 2^exponent without what is inexact, at most those of kBinaryUnitsMax.
__int128 binary_nanos(const Digits& read, int exponent) {
  if (read.mantissa == 0) return 0;
  if (read.decimals < 0) return kBinaryNanosMax;
  if (read.decimals == 0)
    return read.mantissa > kBinaryUnitsMax >> exponent ? kBinaryNanosMax
                                                       : kNanos * (read.mantissa << exponent);
  __int128 one = 1;  // what the mantissa counts as one unit
  for (int i = 0; i < read.decimals; ++i) one *= 10;
  __int128 whole = read.mantissa / one, rest = read.mantissa % one;
  for (; exponent > 0 && whole < kBinaryUnitsMax; --exponent) {
    whole = 2 * whole + (2 * rest >= one ? 1 : 0);
    rest = 2 * rest % one;
  }
  if (whole >= kBinaryUnitsMax) return kBinaryNanosMax;
  for (int i = 0; i < kNanoDigits; ++i) {
    rest *= 10;
    whole = whole * 10 + rest / one;
    rest %= one;
  }
  return whole + (rest > 0 ? 1 : 0);
}

Error invalid_quantity(std::string_view text) {
  return Error(ErrorCode::Invalid, "\"" + std::string(text.substr(0, 64)) +
                                       "\" is no quantity: write a number with at most one suffix, such as "
                                       "500m, 2, 1.5Gi or 3e6");
}

Error too_many_digits(std::string_view text) {
  return Error(ErrorCode::TooLarge, "\"" + std::string(text.substr(0, 64)) + "\" has more than " +
                                        std::to_string(Quantity::kDigitsMax) +
                                        " significant digits, or an exponent beyond " +
                                        std::to_string(kExponentMax) + ": write a rounded amount");
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

std::string_view suffix_for(Format format, int exponent) {
  for (const Suffix& suffix : kSuffixes)
    if (suffix.exponent == exponent && suffix.format == format) return suffix.text;
  return "";
}

// mantissa · 10^exponent with the largest exponent that is a multiple of 3 and has a suffix.
std::string decimal_text(__int128 mantissa, int exponent, Format format) {
  for (; mantissa % 1000 == 0; exponent += 3) mantissa /= 1000;
  for (; exponent % 3 != 0 && mantissa % 10 == 0; ++exponent) mantissa /= 10;
  int shown = exponent - ((exponent % 3) + 3) % 3;
  if (format != Format::DecimalExponent) shown = std::min(shown, kDecimalSuffixMax);
  std::string text = digits_of(mantissa).append(static_cast<std::size_t>(exponent - shown), '0');
  if (format != Format::DecimalExponent) return text.append(suffix_for(Format::DecimalSI, shown));
  return shown == 0 ? text : text + "e" + std::to_string(shown);
}

}  // namespace

Quantity Quantity::normal(__int128 digits, int zeros, Format format) {
  for (; digits > kNanosMax || digits < -kNanosMax; ++zeros)
    digits = digits / 10 + (digits % 10 > 0 ? 1 : digits % 10 < 0 ? -1 : 0);
  constexpr __int128 kSpare = kNanosMax / 10;
  for (; zeros > 0 && digits <= kSpare && digits >= -kSpare; --zeros) digits *= 10;
  return Quantity(digits, digits == 0 ? 0 : zeros, format);
}

Quantity operator+(Quantity a, Quantity b) {
  const Format format = a.is_zero() ? b.format_ : a.format_;
  if (a.zeros_ < b.zeros_) std::swap(a, b);
  const __int128 smaller =
      b.digits_ < 0 ? -shrink(-b.digits_, a.zeros_ - b.zeros_) : shrink(b.digits_, a.zeros_ - b.zeros_);
  return Quantity::normal(a.digits_ + smaller, a.zeros_, format);
}

std::int64_t Quantity::ceil_units() const {
  return clamp(ceil_div(nanos(), kNano));
}
std::int64_t Quantity::ceil_millis() const {
  return clamp(ceil_div(nanos(), kNano / 1000));
}
double Quantity::approximate() const {
  const double nanos = static_cast<double>(digits_);
  return zeros_ == 0 ? nanos / 1e9 : nanos * std::pow(10.0, zeros_ - kNanoDigits);
}

std::string Quantity::text() const {
  if (digits_ == 0) return "0";
  __int128 mantissa = digits_ / kNano;
  if (format_ == Format::BinarySI && !is_beyond_nanos() && is_integer() &&
      (mantissa >= 1024 || mantissa <= -1024)) {
    int exponent = 0;
    for (; mantissa % 1024 == 0 && exponent < 60; exponent += 10) mantissa /= 1024;
    return digits_of(mantissa).append(suffix_for(Format::BinarySI, exponent));
  }
  return decimal_text(digits_, zeros_ - kNanoDigits, format_);
}

Result<Quantity> parse_quantity(std::string_view text) {
  if (text.empty()) return invalid_quantity(text);
  std::string_view rest = text;
  const bool negative = rest.front() == '-';
  if (rest.front() == '-' || rest.front() == '+') rest.remove_prefix(1);

  const Digits read = read_digits(rest);
  const std::optional<Suffix> suffix = suffix_of(rest);
  if (!suffix || (!read.any && wants_digits(*suffix))) return invalid_quantity(text);
  if (suffix->exponent < -kExponentMax || suffix->exponent > kExponentMax) return too_many_digits(text);
  __int128 digits = 0;
  int zeros = 0;
  if (suffix->format == Format::BinarySI) {
    if (read.decimals > Quantity::kDigitsMax) return too_many_digits(text);
    digits = binary_nanos(read, suffix->exponent);
    if (read.inexact && digits < kBinaryNanosMax) return too_many_digits(text);
  } else {
    zeros = kNanoDigits + suffix->exponent - read.decimals;
    if (zeros > kNanoDigits + kExponentMax || (zeros > 0 && read.inexact)) return too_many_digits(text);
    digits = shrink(read.mantissa, -zeros, read.inexact);
    zeros = std::max(zeros, 0);
  }
  return Quantity::normal(negative ? -digits : digits, zeros, suffix->format);
}

}  // namespace berth
