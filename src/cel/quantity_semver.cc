#include <algorithm>
#include <cmath>

#include "cel/libraries.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;

bool looks_like_quantity(std::string_view text) {
  std::size_t at = 0;
  const auto skip = [&](std::string_view set) {
    const std::size_t start = at;
    while (at < text.size() && set.find(text[at]) != std::string_view::npos) ++at;
    return at - start;
  };
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  if (skip("0123456789.") == 0) return false;
  skip("eEinumkKMGTP");
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  skip("0123456789");
  return at == text.size();
}

Value quantity(Args a, Runtime&) {
  const Result<Quantity> parsed = parse_quantity(a[0].as_text());
  if (parsed.ok()) return Value::of_quantity(*parsed);
  if (parsed.error().code() == ErrorCode::TooLarge) return Value::error(parsed.error().message());
  if (!looks_like_quantity(a[0].as_text()))
    return Value::error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  return Value::error("unable to parse quantity's suffix");
}
Value is_quantity(Args a, Runtime&) {
  return Value::of_bool(parse_quantity(a[0].as_text()).ok());
}

bool fits_int(const Quantity& quantity) {
  constexpr __int128 kNano = 1000000000;
  return quantity.is_integer() && quantity.nanos() / kNano <= INT64_MAX &&
         quantity.nanos() / kNano >= INT64_MIN;
}
Value is_integer(Args a, Runtime&) {
  return Value::of_bool(fits_int(a[0].as_quantity()));
}
Value as_integer(Args a, Runtime&) {
  if (!fits_int(a[0].as_quantity())) return Value::error("cannot convert value to integer");
  return Value::of_int(static_cast<std::int64_t>(a[0].as_quantity().nanos() / 1000000000));
}
Value as_float(Args a, Runtime&) {
  return Value::of_double(a[0].as_quantity().approximate());
}
Value sign(Args a, Runtime&) {
  const Quantity& amount = a[0].as_quantity();
  return Value::of_int(amount.is_zero() ? 0 : amount.is_negative() ? -1 : 1);
}
Value add(Args a, Runtime&) {
  return Value::of_quantity(a[0].as_quantity() + a[1].as_quantity());
}
Value subtract(Args a, Runtime&) {
  return Value::of_quantity(a[0].as_quantity() - a[1].as_quantity());
}
Value add_int_to_quantity(Args a, Runtime&) {
  return Value::of_quantity(a[0].as_quantity() + Quantity::of(a[1].as_int()));
}
Value subtract_int_from_quantity(Args a, Runtime&) {
  return Value::of_quantity(a[0].as_quantity() - Quantity::of(a[1].as_int()));
}

template <class Ordering>
std::int64_t sign_of(Ordering order) {
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}
std::int64_t order(const Value& a, const Value& b) {
  if (a.is(Kind::Quantity)) return sign_of(a.as_quantity() <=> b.as_quantity());
  return sign_of(a.as_semver() <=> b.as_semver());
}
Value compare_to(Args a, Runtime&) {
  return Value::of_int(order(a[0], a[1]));
}
Value is_greater(Args a, Runtime&) {
  return Value::of_bool(order(a[0], a[1]) > 0);
}
Value is_less(Args a, Runtime&) {
  return Value::of_bool(order(a[0], a[1]) < 0);
}

Result<SemVer> version_of(Args a) {
  const bool normalize = a.size() > 1 && a[1].as_bool();
  return normalize ? parse_semver(normalized_semver_text(a[0].as_text())) : parse_semver(a[0].as_text());
}
Value semver(Args a, Runtime&) {
  Result<SemVer> version = version_of(a);
  if (!version.ok()) return Value::error(version.error().message());
  return Value::of_semver(std::move(*version));
}
Value is_semver(Args a, Runtime&) {
  return Value::of_bool(version_of(a).ok());
}
Value major(Args a, Runtime&) {
  return Value::of_int(static_cast<std::int64_t>(a[0].as_semver().major()));
}
Value minor(Args a, Runtime&) {
  return Value::of_int(static_cast<std::int64_t>(a[0].as_semver().minor()));
}
Value patch(Args a, Runtime&) {
  return Value::of_int(static_cast<std::int64_t>(a[0].as_semver().patch()));
}

constexpr FunctionRow kQuantitySemverRows[] = {
    {"quantity", "(string) quantity", quantity, cost_of_traversal},
    {"isQuantity", "(string) bool", is_quantity, cost_of_traversal},
    {"isInteger", "quantity.() bool", is_integer},
    {"asInteger", "quantity.() int", as_integer},
    {"asApproximateFloat", "quantity.() double", as_float},
    {"sign", "(quantity) int", sign},
    {"add", "quantity.(quantity) quantity", add},
    {"add", "quantity.(int) quantity", add_int_to_quantity},
    {"sub", "quantity.(quantity) quantity", subtract},
    {"sub", "quantity.(int) quantity", subtract_int_from_quantity},
    {"compareTo", "quantity.(quantity) int", compare_to},
    {"isGreaterThan", "quantity.(quantity) bool", is_greater},
    {"isLessThan", "quantity.(quantity) bool", is_less},
    {"semver", "(string) semver", semver, cost_of_traversal},
    {"semver", "(string, bool) semver", semver, cost_of_traversal},
    {"isSemver", "(string) bool", is_semver, cost_of_traversal},
    {"isSemver", "(string, bool) bool", is_semver, cost_of_traversal},
    {"major", "semver.() int", major},
    {"minor", "semver.() int", minor},
    {"patch", "semver.() int", patch},
    {"compareTo", "semver.(semver) int", compare_to},
    {"isGreaterThan", "semver.(semver) bool", is_greater},
    {"isLessThan", "semver.(semver) bool", is_less},
};

}  // namespace

std::span<const FunctionRow> amount_rows() {
  return kQuantitySemverRows;
}

}  // namespace berth::cel
