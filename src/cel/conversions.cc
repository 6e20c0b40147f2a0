#include <charconv>
#include <cmath>

#include "base/ascii.h"
#include "base/utf8.h"
#include "cel/floats.h"
#include "cel/libraries.h"
#include "cel/times.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;

Value no_conversion(const char* to) {
  return Value::error(std::string("type conversion error from 'string' to '") + to + "'");
}

template <class Number>
bool parsed(std::string_view text, Number& number) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Value int_of_uint(Args a, Runtime&) {
  if (a[0].as_uint() > INT64_MAX) return Value::error("integer overflow");
  return Value::of_int(static_cast<std::int64_t>(a[0].as_uint()));
}
Value int_of_double(Args a, Runtime&) {
  const double value = a[0].as_double();
  if (!(value > -9223372036854775808.0 && value < 9223372036854775808.0))
    return Value::error("integer overflow");
  return Value::of_int(static_cast<std::int64_t>(value));
}
Value int_of_string(Args a, Runtime&) {
  std::int64_t number = 0;
  return parsed(a[0].as_text(), number) ? Value::of_int(number) : no_conversion("int");
}
Value int_of_timestamp(Args a, Runtime&) {
  return Value::of_int(a[0].as_instant().seconds);
}
Value int_of_duration(Args a, Runtime&) {
  return Value::of_int(a[0].as_nanos());
}

Value uint_of_int(Args a, Runtime&) {
  if (a[0].as_int() < 0) return Value::error("unsigned integer overflow");
  return Value::of_uint(static_cast<std::uint64_t>(a[0].as_int()));
}
Value uint_of_double(Args a, Runtime&) {
  const double value = a[0].as_double();
  if (!(value >= 0 && value < 18446744073709551616.0)) return Value::error("unsigned integer overflow");
  return Value::of_uint(static_cast<std::uint64_t>(value));
}
Value uint_of_string(Args a, Runtime&) {
  std::uint64_t number = 0;
  const std::string_view text = a[0].as_text();
  const bool plain = !text.empty() && text[0] != '+' && text[0] != '-';
  return plain && parsed(text, number) ? Value::of_uint(number) : no_conversion("uint");
}

Value double_of_int(Args a, Runtime&) {
  return Value::of_double(static_cast<double>(a[0].as_int()));
}
Value double_of_uint(Args a, Runtime&) {
  return Value::of_double(static_cast<double>(a[0].as_uint()));
}
Value double_of_string(Args a, Runtime&) {
  const std::optional<double> value = parse_float(a[0].as_text());
  return value ? Value::of_double(*value) : no_conversion("double");
}

Value bool_of_string(Args a, Runtime&) {
  const std::optional<bool> value = parse_bool(a[0].as_text());
  return value ? Value::of_bool(*value) : no_conversion("bool");
}

Value bytes_of_string(Args a, Runtime&) {
  return Value::of_bytes(std::string(a[0].as_text()));
}

Value string_of_scalar(Args a, Runtime&) {
  return Value::of_string(text_of(a[0]));
}
Value string_of_bytes(Args a, Runtime&) {
  if (!is_utf8(a[0].as_text())) return Value::error("invalid UTF-8 in bytes, cannot convert to string");
  return Value::of_string(std::string(a[0].as_text()));
}
Value string_of_duration(Args a, Runtime&) {
  return Value::of_string(duration_text(a[0].as_nanos()));
}
Value string_of_timestamp(Args a, Runtime&) {
  return Value::of_string(instant_text(a[0].as_instant()));
}

Value timestamp_of_int(Args a, Runtime&) {
  const Instant instant{a[0].as_int(), 0};
  return in_range(instant) ? Value::of_instant(instant) : Value::error("timestamp overflow");
}
Value timestamp_of_string(Args a, Runtime&) {
  const std::optional<Instant> instant = parse_instant(a[0].as_text());
  return instant ? Value::of_instant(*instant) : no_conversion("google.protobuf.Timestamp");
}
Value duration_of_string(Args a, Runtime&) {
  const std::optional<std::int64_t> nanos = parse_nanos(a[0].as_text());
  return nanos ? Value::of_duration(*nanos) : no_conversion("google.protobuf.Duration");
}
Value duration_of_int(Args a, Runtime&) {
  return Value::of_duration(a[0].as_int());
}

constexpr FunctionRow kConversionsRows[] = {
    {"int", "(int) int", unchanged},
    {"int", "(uint) int", int_of_uint},
    {"int", "(double) int", int_of_double},
    {"int", "(string) int", int_of_string},
    {"int", "(timestamp) int", int_of_timestamp},
    {"int", "(duration) int", int_of_duration},
    {"uint", "(uint) uint", unchanged},
    {"uint", "(int) uint", uint_of_int},
    {"uint", "(double) uint", uint_of_double},
    {"uint", "(string) uint", uint_of_string},
    {"double", "(double) double", unchanged},
    {"double", "(int) double", double_of_int},
    {"double", "(uint) double", double_of_uint},
    {"double", "(string) double", double_of_string},
    {"bool", "(bool) bool", unchanged},
    {"bool", "(string) bool", bool_of_string},
    {"bytes", "(bytes) bytes", unchanged},
    {"bytes", "(string) bytes", bytes_of_string, cost_of_traversal},
    {"string", "(string) string", unchanged},
    {"string", "(bool) string", string_of_scalar},
    {"string", "(int) string", string_of_scalar},
    {"string", "(uint) string", string_of_scalar},
    {"string", "(double) string", string_of_scalar},
    {"string", "(bytes) string", string_of_bytes, cost_of_traversal},
    {"string", "(duration) string", string_of_duration},
    {"string", "(timestamp) string", string_of_timestamp},
    {"timestamp", "(timestamp) timestamp", unchanged},
    {"timestamp", "(int) timestamp", timestamp_of_int},
    {"timestamp", "(string) timestamp", timestamp_of_string},
    {"duration", "(duration) duration", unchanged},
    {"duration", "(string) duration", duration_of_string},
    {"duration", "(int) duration", duration_of_int},
};

}  // namespace

Value unchanged(Args a, Runtime&) {
  return a[0];
}

std::span<const FunctionRow> conversion_rows() {
  return kConversionsRows;
}

}  // namespace berth::cel
