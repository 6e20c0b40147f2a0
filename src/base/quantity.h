// A Kubernetes resource quantity ("500m", "1.5Gi", "2e3"): exact to nano units, compared by value.
//
// Source: k8s.io/apimachinery resource.Quantity. Values beyond ±1.7e29 saturate. Cost: plain arithmetic, no
// heap.
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

  constexpr Quantity() = default;
  static constexpr Quantity of(std::int64_t units, Format format = Format::DecimalSI) {
    return Quantity(static_cast<__int128>(units) * kNano, format);
  }
  static constexpr Quantity millis(std::int64_t n) {
    return Quantity(static_cast<__int128>(n) * (kNano / 1000), Format::DecimalSI);
  }
  static constexpr Quantity nanos(__int128 n, Format format = Format::DecimalSI) {
    return Quantity(n, format);
  }

  constexpr __int128 nanos() const { return nanos_; }
  constexpr Format format() const { return format_; }
  constexpr bool is_zero() const { return nanos_ == 0; }
  constexpr bool is_negative() const { return nanos_ < 0; }
  constexpr bool is_integer() const { return nanos_ % kNano == 0; }
  // Rounded up, and clamped to int64.
  std::int64_t ceil_units() const;
  std::int64_t ceil_millis() const;
  double approximate() const { return static_cast<double>(nanos_) / 1e9; }

  // Saturating.
  friend Quantity operator+(Quantity a, Quantity b);
  friend Quantity operator-(Quantity a, Quantity b);
  Quantity& operator+=(Quantity other) { return *this = *this + other; }
  Quantity& operator-=(Quantity other) { return *this = *this - other; }

  // By value; the format is ignored.
  friend constexpr bool operator==(Quantity a, Quantity b) { return a.nanos_ == b.nanos_; }
  friend constexpr auto operator<=>(Quantity a, Quantity b) { return a.nanos_ <=> b.nanos_; }

  // The canonical text, as the API server writes it.
  std::string text() const;

 private:
  static constexpr __int128 kNano = 1000000000;
  constexpr Quantity(__int128 nanos, Format format) : nanos_(nanos), format_(format) {}

  __int128 nanos_ = 0;
  Format format_ = Format::DecimalSI;
};

// Accepts sign, decimals and one suffix: n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or e<exponent>.
// Digits below nano are rounded away from zero, and a number without digits is 0, as in the API.
Result<Quantity> parse_quantity(std::string_view text);

}  // namespace berth
