#include <algorithm>
#include <cmath>

#include "cel/builders.h"
#include "cel/libraries.h"
#include "cel/limits.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;
using Extents = std::span<const Extent>;

const char* overflow_text(bool is_unsigned) {
  return is_unsigned ? "unsigned integer overflow" : "integer overflow";
}

Value overflow(bool is_unsigned = false) {
  return Value::error(overflow_text(is_unsigned));
}

Value add_int(Args a, Runtime&) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a[0].as_int(), a[1].as_int(), &sum) ? overflow() : Value::of_int(sum);
}
Value subtract_int(Args a, Runtime&) {
  std::int64_t rest = 0;
  return __builtin_sub_overflow(a[0].as_int(), a[1].as_int(), &rest) ? overflow() : Value::of_int(rest);
}
Value multiply_int(Args a, Runtime&) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a[0].as_int(), a[1].as_int(), &product) ? overflow() : Value::of_int(product);
}
Value divide_int(Args a, Runtime&) {
  if (a[1].as_int() == 0) return Value::error("division by zero");
  if (a[0].as_int() == INT64_MIN && a[1].as_int() == -1) return overflow();
  return Value::of_int(a[0].as_int() / a[1].as_int());
}
Value modulo_int(Args a, Runtime&) {
  if (a[1].as_int() == 0) return Value::error("modulus by zero");
  if (a[0].as_int() == INT64_MIN && a[1].as_int() == -1) return overflow();
  return Value::of_int(a[0].as_int() % a[1].as_int());
}
Value negate_int(Args a, Runtime&) {
  return a[0].as_int() == INT64_MIN ? overflow() : Value::of_int(-a[0].as_int());
}

Value add_uint(Args a, Runtime&) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a[0].as_uint(), a[1].as_uint(), &sum) ? overflow(true) : Value::of_uint(sum);
}
Value subtract_uint(Args a, Runtime&) {
  return a[0].as_uint() < a[1].as_uint() ? overflow(true) : Value::of_uint(a[0].as_uint() - a[1].as_uint());
}
Value multiply_uint(Args a, Runtime&) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a[0].as_uint(), a[1].as_uint(), &product) ? overflow(true)
                                                                          : Value::of_uint(product);
}
Value divide_uint(Args a, Runtime&) {
  if (a[1].as_uint() == 0) return Value::error("division by zero");
  return Value::of_uint(a[0].as_uint() / a[1].as_uint());
}
Value modulo_uint(Args a, Runtime&) {
  if (a[1].as_uint() == 0) return Value::error("modulus by zero");
  return Value::of_uint(a[0].as_uint() % a[1].as_uint());
}

Value add_double(Args a, Runtime&) {
  return Value::of_double(a[0].as_double() + a[1].as_double());
}
Value subtract_double(Args a, Runtime&) {
  return Value::of_double(a[0].as_double() - a[1].as_double());
}
Value multiply_double(Args a, Runtime&) {
  return Value::of_double(a[0].as_double() * a[1].as_double());
}
Value divide_double(Args a, Runtime&) {
  const double x = a[0].as_double(), y = a[1].as_double();
  if (y != 0) return Value::of_double(x / y);
  if (x == 0 || std::isnan(x)) return Value::of_double(NAN);
  return Value::of_double(std::signbit(x) == std::signbit(y) ? INFINITY : -INFINITY);
}
Value negate_double(Args a, Runtime&) {
  return Value::of_double(-a[0].as_double());
}

Value add_text(Args a, Runtime&) {
  const std::string_view x = a[0].as_text(), y = a[1].as_text();
  if (x.size() + y.size() > kTextBytesMax)
    return Value::error("text exceeds " + std::to_string(kTextBytesMax) + " bytes");
  std::string joined = std::string(x).append(y);
  return a[0].is(Kind::String) ? Value::of_string(std::move(joined)) : Value::of_bytes(std::move(joined));
}

Value add_list(Args a, Runtime&) {
  const ListSource &x = a[0].as_list(), &y = a[1].as_list();
  if (x.size() == 0) return a[1];
  if (y.size() == 0) return a[0];
  if (y.size() == 1) return ListAppender::append(std::move(a[0]), y.at(0));
  if (x.size() + y.size() > kItemsMax)
    return Value::error("list exceeds " + std::to_string(kItemsMax) + " items");
  std::vector<Value> items;
  items.reserve(x.size() + y.size());
  for (std::size_t i = 0; i < x.size(); ++i) items.push_back(x.at(i));
  for (std::size_t i = 0; i < y.size(); ++i) items.push_back(y.at(i));
  return Value::of_list(std::move(items));
}

Value equals(Args a, Runtime&) {
  const Equality found = equality(a[0], a[1]);
  if (found == Equality::NoOverload) return Value::error("no such overload");
  return Value::of_bool(found == Equality::Same);
}
Value differs(Args a, Runtime&) {
  return Value::of_bool(!equal(a[0], a[1]));
}

// The comparison of one operator; `Accept` lists the orders for which it is true.
template <bool (*Accept)(Order)>
Value ordered(Args a, Runtime&) {
  const Order order = compare(a[0], a[1]);
  if (order == Order::NotANumber) return Value::error("NaN values cannot be ordered");
  if (order == Order::Incomparable) return Value::error("no such overload");
  return Value::of_bool(Accept(order));
}
bool less(Order o) {
  return o == Order::Less;
}
bool less_equal(Order o) {
  return o != Order::Greater;
}
bool greater(Order o) {
  return o == Order::Greater;
}
bool greater_equal(Order o) {
  return o != Order::Less;
}

Value negate(Args a, Runtime&) {
  return Value::of_bool(!a[0].as_bool());
}

Value in_list(Args a, Runtime&) {
  for (std::size_t i = 0; i < a[1].as_list().size(); ++i)
    if (equal(a[0], a[1].as_list().at(i))) return Value::of_bool(true);
  return Value::of_bool(false);
}
Value in_map(Args a, Runtime&) {
  return Value::of_bool(a[1].as_map().contains(a[0]));
}

Value size(Args a, Runtime&) {
  return Value::of_int(static_cast<std::int64_t>(size_of(a[0])));
}
Value type_of(Args a, Runtime&) {
  return Value::of_type(std::string(a[0].type_name()));
}

std::uint64_t equality_cost(Extents a, const Extent&) {
  return tenth(std::min(size_of(a[0]), size_of(a[1])));
}
std::uint64_t concat_cost(Extents a, const Extent&) {
  return tenth(size_of(a[0]) + size_of(a[1]));
}
std::uint64_t member_cost(Extents a, const Extent&) {
  return size_of(a[1]);
}

std::uint64_t order_cost(Extents a, const Extent&) {
  const bool texts = a[0].is(Kind::String) || a[0].is(Kind::Bytes);
  return texts ? tenth(std::min(size_of(a[0]), size_of(a[1]))) : 1;
}

Value map_insert_value(Args a, Runtime&) {
  if (a[0].as_map().contains(a[1]))
    return Value::error("insert failed: key " + text_of(a[1]) + " already exists");
  return MapBuilder::insert_into(std::move(a[0]), a[1], std::move(a[2]));
}

Value map_insert_map(Args a, Runtime& runtime) {
  Value result = std::move(a[0]);
  const MapSource& entries = a[1].as_map();
  for (std::size_t i = 0; i < entries.size() && !result.is_error(); ++i) {
    Value inner;
    entries.find(entries.key_at(i), inner);
    Value call[] = {std::move(result), entries.key_at(i), std::move(inner)};
    result = map_insert_value(call, runtime);
  }
  return result;
}

#define ORDERED_ROWS(name, accept)                                          \
  {name, "(bool, bool) bool", ordered<accept>, order_cost},                 \
      {name, "(int, int) bool", ordered<accept>, order_cost},               \
      {name, "(int, double) bool", ordered<accept>, order_cost},            \
      {name, "(int, uint) bool", ordered<accept>, order_cost},              \
      {name, "(uint, uint) bool", ordered<accept>, order_cost},             \
      {name, "(uint, double) bool", ordered<accept>, order_cost},           \
      {name, "(uint, int) bool", ordered<accept>, order_cost},              \
      {name, "(double, double) bool", ordered<accept>, order_cost},         \
      {name, "(double, int) bool", ordered<accept>, order_cost},            \
      {name, "(double, uint) bool", ordered<accept>, order_cost},           \
      {name, "(string, string) bool", ordered<accept>, order_cost},         \
      {name, "(bytes, bytes) bool", ordered<accept>, order_cost},           \
      {name, "(timestamp, timestamp) bool", ordered<accept>, order_cost}, { \
    name, "(duration, duration) bool", ordered<accept>, order_cost          \
  }

// In cel-go's order: the first matching overload determines the type of an unknown operand.
constexpr FunctionRow kOperatorsRows[] = {
    {"_&&_", "(bool, bool) bool", nullptr},
    {"_||_", "(bool, bool) bool", nullptr},
    {"_?_:_", "(bool, A, A) A", nullptr},
    {"@not_strictly_false", "(bool) bool", nullptr},
    {"!_", "(bool) bool", negate},
    {"_==_", "(A, A) bool", equals, equality_cost},
    {"_!=_", "(A, A) bool", differs, equality_cost},
    ORDERED_ROWS("_<_", less),
    ORDERED_ROWS("_<=_", less_equal),
    ORDERED_ROWS("_>_", greater),
    ORDERED_ROWS("_>=_", greater_equal),
    {"_+_", "(bytes, bytes) bytes", add_text, concat_cost},
    {"_+_", "(double, double) double", add_double},
    {"_+_", "(int, int) int", add_int},
    {"_+_", "(list(A), list(A)) list(A)", add_list},
    {"_+_", "(string, string) string", add_text, concat_cost},
    {"_+_", "(uint, uint) uint", add_uint},
    {"_-_", "(double, double) double", subtract_double},
    {"_-_", "(int, int) int", subtract_int},
    {"_-_", "(uint, uint) uint", subtract_uint},
    {"_*_", "(double, double) double", multiply_double},
    {"_*_", "(int, int) int", multiply_int},
    {"_*_", "(uint, uint) uint", multiply_uint},
    {"_/_", "(double, double) double", divide_double},
    {"_/_", "(int, int) int", divide_int},
    {"_/_", "(uint, uint) uint", divide_uint},
    {"_%_", "(int, int) int", modulo_int},
    {"_%_", "(uint, uint) uint", modulo_uint},
    {"-_", "(double) double", negate_double},
    {"-_", "(int) int", negate_int},
    {"@in", "(A, list(A)) bool", in_list, member_cost},
    {"@in", "(A, map(A, B)) bool", in_map},
    {"_[_]", "(list(A), int) A", nullptr},
    {"_[_]", "(map(A, B), A) B", nullptr},
    {"_[_]", "(optional(list(A)), int) optional(A)", nullptr},
    {"_[_]", "(optional(map(A, B)), A) optional(B)", nullptr},
    {"_[?_]", "(list(A), int) optional(A)", nullptr},
    {"_[?_]", "(optional(list(A)), int) optional(A)", nullptr},
    {"_[?_]", "(map(A, B), A) optional(B)", nullptr},
    {"_[?_]", "(optional(map(A, B)), A) optional(B)", nullptr},
    {"size", "(string) int", size},
    {"size", "(bytes) int", size},
    {"size", "(list(A)) int", size},
    {"size", "(map(A, B)) int", size},
    {"size", "string.() int", size},
    {"size", "bytes.() int", size},
    {"size", "list(A).() int", size},
    {"size", "map(A, B).() int", size},
    {"type", "(A) type(A)", type_of},
    {"dyn", "(A) dyn", unchanged},
    {"cel.@mapInsert", "(map(A, B), A, B) map(A, B)", map_insert_value},
    {"cel.@mapInsert", "(map(A, B), map(A, B)) map(A, B)", map_insert_map},
};
#undef ORDERED_ROWS

}  // namespace

std::span<const FunctionRow> operator_rows() {
  return kOperatorsRows;
}

std::uint64_t tenth(std::uint64_t size) {
  return (size + 9) / 10;
}
std::uint64_t cost_of_traversal(std::span<const Extent> args, const Extent&) {
  return tenth(size_of(args[0]));
}
std::uint64_t cost_of_two_traversals(std::span<const Extent> args, const Extent&) {
  return tenth(2 * size_of(args[0]));
}
namespace {
std::uint64_t items_in(const Value& value) {
  if (value.is(Kind::String) || value.is(Kind::Bytes)) return value.as_text().size() / 10;
  if (!value.is(Kind::List)) return 1;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < value.as_list().size(); ++i) total += items_in(value.as_list().at(i));
  return total;
}
std::uint64_t items_in(const Extent& extent) {
  if (extent.value) return items_in(*extent.value);
  if (extent.is(Kind::String) || extent.is(Kind::Bytes)) return extent.size / 10;
  return extent.is(Kind::List) ? extent.size * std::max<std::uint64_t>(1, extent.item_size / 10) : 1;
}
}  // namespace
std::uint64_t cost_of_items(std::span<const Extent> args, const Extent&) {
  return items_in(args[0]);
}
std::uint64_t cost_of_regex(std::span<const Extent> args, const Extent&) {
  return tenth(1 + size_of(args[0])) * ((size_of(args[1]) + 3) / 4);
}

Value no_overload(std::string_view function, std::span<const Value> args) {
  std::string text = "no such overload: " + std::string(function) + "(";
  for (std::size_t i = 0; i < args.size(); ++i) text.append(i ? ", " : "").append(args[i].type_name());
  return Value::error(text + ")");
}

}  // namespace berth::cel
