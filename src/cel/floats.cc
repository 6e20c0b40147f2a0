#include "cel/floats.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/ascii.h"

namespace berth::cel {
namespace {

bool is_hexadecimal_digit(char c) {
  return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

// Scans a literal of Go's grammar; `digits` is the input for std::strtod: without underscores.
class FloatScanner {
 public:
  explicit FloatScanner(std::string_view text) : rest_(text) {}

  bool scan(std::string& digits) {
    digits.clear();
    if (is_one_of("+-")) take(digits);
    const bool hexadecimal = rest_.size() > 1 && rest_[0] == '0' && (rest_[1] | 0x20) == 'x';
    if (hexadecimal) {
      take(digits), take(digits);
      after_digit_ = true;
    }
    const auto is_digit_of_base = hexadecimal ? is_hexadecimal_digit : is_digit;
    std::size_t count = run_of_digits(digits, is_digit_of_base);
    if (is_one_of(".")) {
      take(digits);
      count += run_of_digits(digits, is_digit_of_base);
    }
    const bool has_exponent = is_one_of(hexadecimal ? "pP" : "eE");
    if (count == 0 || (hexadecimal && !has_exponent)) return false;
    return (!has_exponent || exponent(digits)) && rest_.empty() && well_separated_;
  }

 private:
  bool is_one_of(std::string_view set) const {
    return !rest_.empty() && set.find(rest_[0]) != std::string_view::npos;
  }
  void take(std::string& digits) {
    digits += rest_[0];
    rest_.remove_prefix(1);
    after_digit_ = false;
  }
  // An underscore must be between two digits, or between the base's prefix and a digit.
  std::size_t run_of_digits(std::string& digits, bool (*is_digit_of_base)(char)) {
    std::size_t count = 0;
    for (; !rest_.empty(); rest_.remove_prefix(1)) {
      const char c = rest_[0];
      if (c == '_') {
        well_separated_ &= after_digit_ && rest_.size() > 1 && is_digit_of_base(rest_[1]);
        continue;
      }
      if (!is_digit_of_base(c)) break;
      digits += c;
      after_digit_ = true;
      ++count;
    }
    return count;
  }
  bool exponent(std::string& digits) {
    take(digits);
    if (is_one_of("+-")) take(digits);
    return run_of_digits(digits, is_digit) > 0;
  }

  std::string_view rest_;
  bool after_digit_ = false;
  bool well_separated_ = true;
};

}  // namespace

std::optional<double> parse_float(std::string_view text) {
  const std::string word = to_lower(text);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  const bool has_sign = word.starts_with('+') || word.starts_with('-');
  const std::string_view unsigned_word = std::string_view(word).substr(has_sign ? 1 : 0);
  if (unsigned_word == "inf" || unsigned_word == "infinity")
    return std::copysign(std::numeric_limits<double>::infinity(), word[0] == '-' ? -1.0 : 1.0);
  std::string digits;
  if (!FloatScanner(text).scan(digits)) return std::nullopt;
  const double value = std::strtod(digits.c_str(), nullptr);
  if (std::isinf(value)) return std::nullopt;
  return value;
}

}  // namespace berth::cel
