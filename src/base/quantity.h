// A Kubernetes resource quantity ("500m", "1.5Gi", "2e3"): exact, compared by value.
//
// Below 8.5e28 it is exact to nano units. Above, it is exact to kDigitsMax significant digits, up to 10^1000;
// a sum that has more is rounded away from zero. Source: k8s.io/apimachinery resource.Quantity. Cost: plain
// arithmetic, no heap.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

class Quantity {
 public:
  // How the text was written; the canonical text keeps the family.
  enum class Format : std::uint8_t { DecimalSI, BinarySI, DecimalExponent };

  static constexpr int kDigitsMax = 37;

  constexpr Quantity() = default;
  static constexpr Quantity of(std::int64_t units, Format format = Format::DecimalSI) {
    return Quantity(static_cast<__int128>(units) * kNano, 0, format);
  }
  static constexpr Quantity millis(std::int64_t n) {
    return Quantity(static_cast<__int128>(n) * (kNano / 1000), 0, Format::DecimalSI);
  }
  // Clamped to ±kNanosMax.
  static constexpr Quantity nanos(__int128 n, Format format = Format::DecimalSI) {
    return Quantity(n > kNanosMax ? kNanosMax : n < -kNanosMax ? -kNanosMax : n, 0, format);
  }

  // Clamped to ±kNanosMax: is_beyond_nanos() tells whether it was.
  constexpr __int128 nanos() const { return zeros_ == 0 ? digits_ : digits_ < 0 ? -kNanosMax : kNanosMax; }
  constexpr bool is_beyond_nanos() const { return zeros_ != 0; }
  constexpr Format format() const { return format_; }
  constexpr bool is_zero() const { return digits_ == 0; }
  constexpr bool is_negative() const { return digits_ < 0; }
  constexpr bool is_integer() const {
    __int128 fraction_of = kNano;
    for (int zeros = zeros_; zeros > 0 && fraction_of > 1; --zeros) fraction_of /= 10;
    return digits_ % fraction_of == 0;
  }
  // Rounded up, and clamped to int64.
  std::int64_t ceil_units() const;
  std::int64_t ceil_millis() const;
  double approximate() const;

  friend Quantity operator+(Quantity a, Quantity b);
  friend Quantity operator-(Quantity a, Quantity b) { return a + Quantity(-b.digits_, b.zeros_, b.format_); }
  Quantity& operator+=(Quantity other) { return *this = *this + other; }
  Quantity& operator-=(Quantity other) { return *this = *this - other; }

  // By value; the format is ignored.
  friend constexpr bool operator==(Quantity a, Quantity b) {
    return a.digits_ == b.digits_ && a.zeros_ == b.zeros_;
  }
  friend constexpr std::strong_ordering operator<=>(Quantity a, Quantity b) {
    if (a.zeros_ == b.zeros_) return a.digits_ <=> b.digits_;
    const bool a_is_larger = a.zeros_ > b.zeros_;  // in magnitude
    const bool larger_is_positive = (a_is_larger ? a : b).digits_ > 0;
    return a_is_larger == larger_is_positive ? std::strong_ordering::greater : std::strong_ordering::less;
  }

  // The canonical text, as the API server writes it.
  std::string text() const;

  friend Result<Quantity> parse_quantity(std::string_view text);

 private:
  static constexpr __int128 kNano = 1000000000;
  // Twice of it still fits.
  static constexpr __int128 kNanosMax = (static_cast<__int128>(1) << 126) - 1;

  constexpr Quantity(__int128 digits, int zeros, Format format)
      : digits_(digits), zeros_(static_cast<std::int16_t>(zeros)), format_(format) {}
  // `zeros` may be what it is: the digits take up as many of them as they can.
  static Quantity normal(__int128 digits, int zeros, Format format);

  // The value in nano units is digits_ · 10^zeros_. There are zeros only if one less would pass kNanosMax, so
  // equal values have equal members, and more zeros mean a larger magnitude.
  __int128 digits_ = 0;
  std::int16_t zeros_ = 0;
  Format format_ = Format::DecimalSI;
};

// Accepts sign, decimals and one suffix: n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or e<exponent>. As in the API,
// digits below nano are rounded away from zero, a number without digits is 0, and one with a binary suffix is
// at most 2^63-1. Refused with TooLarge: what has more than kDigitsMax significant digits, or an exponent
// beyond ±1000.
Result<Quantity> parse_quantity(std::string_view text);

}  // namespace berth
