#include "cel/libraries.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;

bool is_zero(const Value& value) {
  switch (value.kind()) {
    case Kind::Null:
      return true;
    case Kind::Bool:
      return !value.as_bool();
    case Kind::Int:
    case Kind::Duration:
      return value.as_int() == 0;
    case Kind::Uint:
      return value.as_uint() == 0;
    case Kind::Double:
      return value.as_double() == 0;
    case Kind::String:
    case Kind::Bytes:
    case Kind::List:
    case Kind::Map:
      return size_of(value) == 0;
    case Kind::Optional:
      return !value.has_inner();
    default:
      return false;
  }
}

Value none(Args, Runtime&) {
  return Value::none();
}
Value of(Args a, Runtime&) {
  return Value::some(std::move(a[0]));
}
Value of_non_zero(Args a, Runtime&) {
  return is_zero(a[0]) ? Value::none() : Value::some(std::move(a[0]));
}
Value has_value(Args a, Runtime&) {
  return Value::of_bool(a[0].has_inner());
}
Value value(Args a, Runtime&) {
  return a[0].has_inner() ? a[0].inner() : Value::error("optional.none() dereference");
}

Value unwrap(Args a, Runtime&) {
  std::vector<Value> items;
  const ListSource& list = a[0].as_list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value item = list.at(i);
    if (!item.is(Kind::Optional)) items.push_back(item);
    if (item.is(Kind::Optional) && item.has_inner()) items.push_back(item.inner());
  }
  return Value::of_list(std::move(items));
}

constexpr FunctionRow kOptionalsRows[] = {
    {"optional.none", "() optional(A)", none},
    {"optional.of", "(A) optional(A)", of},
    {"optional.ofNonZeroValue", "(A) optional(A)", of_non_zero},
    {"optional.unwrap", "(list(optional(A))) list(A)", unwrap},
    {"unwrapOpt", "list(optional(A)).() list(A)", unwrap},
    {"hasValue", "optional(A).() bool", has_value},
    {"value", "optional(A).() A", value},
    {"or", "optional(A).(optional(A)) optional(A)", nullptr},
    {"orValue", "optional(A).(A) A", nullptr},
};

}  // namespace

std::span<const FunctionRow> optional_rows() {
  return kOptionalsRows;
}

}  // namespace berth::cel
