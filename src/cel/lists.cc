#include <algorithm>
#include <array>

#include "cel/builders.h"
#include "cel/libraries.h"
#include "cel/limits.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;
using Extents = std::span<const Extent>;

std::vector<Value> items_of(const Value& value) {
  std::vector<Value> items;
  const ListSource& list = value.as_list();
  items.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) items.push_back(list.at(i));
  return items;
}

bool contains(const Value& list, const Value& item) {
  for (std::size_t i = 0; i < list.as_list().size(); ++i)
    if (equal(list.as_list().at(i), item)) return true;
  return false;
}

Value is_sorted(Args a, Runtime&) {
  const ListSource& list = a[0].as_list();
  for (std::size_t i = 1; i < list.size(); ++i) {
    const Order order = compare(list.at(i - 1), list.at(i));
    if (order == Order::Incomparable) return Value::error("no such overload");
    if (order == Order::NotANumber) return Value::error("NaN values cannot be ordered");
    if (order == Order::Greater) return Value::of_bool(false);
  }
  return Value::of_bool(true);
}

// The `+` of one kind; null for kinds without one here.
Implementation addition_of(Kind kind) {
  const std::string_view wanted = kind == Kind::Int        ? "(int, int) int"
                                  : kind == Kind::Uint     ? "(uint, uint) uint"
                                  : kind == Kind::Double   ? "(double, double) double"
                                  : kind == Kind::Duration ? "(duration, duration) duration"
                                                           : "";
  for (const std::span<const FunctionRow> rows : {operator_rows(), time_rows()})
    for (const FunctionRow& row : rows)
      if (std::string_view(row.name) == "_+_" && row.signature == wanted) return row.run;
  return nullptr;
}

Value sum(Args a, Runtime& runtime) {
  const ListSource& list = a[0].as_list();
  if (list.size() == 0) return Value::of_int(0);
  Value total = list.at(0);
  const Implementation add = addition_of(total.kind());
  for (std::size_t i = 1; i < list.size(); ++i) {
    std::array<Value, 2> terms = {total, list.at(i)};
    if (!add || terms[1].kind() != total.kind()) return Value::error("no such overload");
    total = add(terms, runtime);
    if (total.is_error()) return total;
  }
  return total;
}

Value extreme(const Value& value, Order wanted, const char* name) {
  const ListSource& list = value.as_list();
  if (list.size() == 0) return Value::error(std::string(name) + " called on empty list");
  Value best = list.at(0);
  for (std::size_t i = 1; i < list.size(); ++i) {
    const Value item = list.at(i);
    const Order order = compare(item, best);
    if (order == Order::Incomparable) return Value::error("no such overload");
    if (order == Order::NotANumber) return Value::error("NaN values cannot be ordered");
    if (order == wanted) best = item;
  }
  return best;
}
Value min(Args a, Runtime&) {
  return extreme(a[0], Order::Less, "min");
}
Value max(Args a, Runtime&) {
  return extreme(a[0], Order::Greater, "max");
}

Value index_in_list(Args a, Runtime&) {
  const ListSource& list = a[0].as_list();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (equal(list.at(i), a[1])) return Value::of_int(static_cast<std::int64_t>(i));
  return Value::of_int(-1);
}
Value last_index_in_list(Args a, Runtime&) {
  const ListSource& list = a[0].as_list();
  for (std::size_t i = list.size(); i-- > 0;)
    if (equal(list.at(i), a[1])) return Value::of_int(static_cast<std::int64_t>(i));
  return Value::of_int(-1);
}

Value includes(Args a, Runtime&) {
  return Value::of_bool(a[0].is(Kind::List) ? contains(a[0], a[1]) : equal(a[0], a[1]));
}

Value distinct(Args a, Runtime&) {
  MapBuilder seen;
  std::vector<Value> kept;
  for (Value& item : items_of(a[0]))
    if (seen.insert(item, Value())) kept.push_back(std::move(item));
  return Value::of_list(std::move(kept));
}

bool flatten_into(const ListSource& list, std::int64_t levels, std::vector<Value>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value item = list.at(i);
    if (out.size() >= kItemsMax) return false;
    if (item.is(Kind::List) && levels > 0) {
      if (!flatten_into(item.as_list(), levels - 1, out)) return false;
    } else {
      out.push_back(item);
    }
  }
  return true;
}
Value flatten_to(const Value& list, std::int64_t levels) {
  if (levels < 0) return Value::error("level must be non-negative");
  std::vector<Value> items;
  if (!flatten_into(list.as_list(), levels, items))
    return Value::error("list exceeds " + std::to_string(kItemsMax) + " items");
  return Value::of_list(std::move(items));
}
Value flatten(Args a, Runtime&) {
  return flatten_to(a[0], 1);
}
Value flatten_levels(Args a, Runtime&) {
  return flatten_to(a[0], a[1].as_int());
}

Value slice(Args a, Runtime&) {
  const std::int64_t begin = a[1].as_int(), end = a[2].as_int();
  const ListSource& list = a[0].as_list();
  const std::string call = "cannot slice(" + std::to_string(begin) + ", " + std::to_string(end) + "), ";
  if (begin < 0 || end < 0) return Value::error(call + "negative indexes not supported");
  if (begin > end) return Value::error(call + "start index must be less than or equal to end index");
  if (static_cast<std::uint64_t>(end) > list.size())
    return Value::error(call + "list is length " + std::to_string(list.size()));
  std::vector<Value> items;
  for (std::int64_t i = begin; i < end; ++i) items.push_back(list.at(static_cast<std::size_t>(i)));
  return Value::of_list(std::move(items));
}

bool sortable(const Value& value) {
  switch (value.kind()) {
    case Kind::Bool:
    case Kind::Int:
    case Kind::Uint:
    case Kind::Double:
    case Kind::String:
    case Kind::Bytes:
    case Kind::Duration:
    case Kind::Timestamp:
      return true;
    default:
      return false;
  }
}

// Sorts `list` by the values of `keys` at the same positions; stable.
Value sorted_by(const Value& list, const Value& keys) {
  const std::vector<Value> items = items_of(list), order = items_of(keys);
  if (items.size() != order.size())
    return Value::error("@sortByAssociatedKeys() expected a list of the same size");
  for (const Value& key : order) {
    if (!sortable(key)) return Value::error("list elements must be comparable");
    if (compare(key, key) == Order::NotANumber) return Value::error("NaN values cannot be ordered");
    if (key.kind() != order[0].kind()) return Value::error("list elements must have the same type");
  }
  std::vector<std::size_t> positions(items.size());
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = i;
  std::sort(positions.begin(), positions.end(), [&](std::size_t x, std::size_t y) {
    const Order order_of_keys = compare(order[x], order[y]);
    return order_of_keys == Order::Less || (order_of_keys != Order::Greater && x < y);
  });
  std::vector<Value> sorted;
  for (const std::size_t position : positions) sorted.push_back(items[position]);
  return Value::of_list(std::move(sorted));
}
Value sort(Args a, Runtime&) {
  return sorted_by(a[0], a[0]);
}
Value sort_by_keys(Args a, Runtime&) {
  return sorted_by(a[0], a[1]);
}

Value reverse(Args a, Runtime&) {
  std::vector<Value> items = items_of(a[0]);
  std::reverse(items.begin(), items.end());
  return Value::of_list(std::move(items));
}
Value range(Args a, Runtime&) {
  const std::int64_t count = a[0].as_int();
  if (count < 0) return Value::error("lists.range: size must be non-negative, got " + std::to_string(count));
  if (count > static_cast<std::int64_t>(kRangeMax))
    return Value::error("lists.range: size " + std::to_string(count) + " exceeds maximum allowed (" +
                        std::to_string(kRangeMax) + ")");
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) items.push_back(Value::of_int(i));
  return Value::of_list(std::move(items));
}
Value first(Args a, Runtime&) {
  return a[0].as_list().size() == 0 ? Value::none() : Value::some(a[0].as_list().at(0));
}
Value last(Args a, Runtime&) {
  const ListSource& list = a[0].as_list();
  return list.size() == 0 ? Value::none() : Value::some(list.at(list.size() - 1));
}

bool contains_all(const Value& list, const Value& wanted) {
  for (std::size_t i = 0; i < wanted.as_list().size(); ++i)
    if (!contains(list, wanted.as_list().at(i))) return false;
  return true;
}
Value sets_contains(Args a, Runtime&) {
  return Value::of_bool(contains_all(a[0], a[1]));
}
Value sets_equivalent(Args a, Runtime&) {
  return Value::of_bool(contains_all(a[0], a[1]) && contains_all(a[1], a[0]));
}
Value sets_intersects(Args a, Runtime&) {
  for (std::size_t i = 0; i < a[0].as_list().size(); ++i)
    if (contains(a[1], a[0].as_list().at(i))) return Value::of_bool(true);
  return Value::of_bool(false);
}

std::uint64_t new_list_cost(Extents, const Extent& result) {
  return 11 + size_of(result);
}
std::uint64_t quadratic_cost(Extents a, const Extent&) {
  return 11 + 2 * size_of(a[0]) * size_of(a[0]);
}
std::uint64_t product_cost(Extents a, const Extent&) {
  return 1 + size_of(a[0]) * size_of(a[1]);
}
std::uint64_t double_product_cost(Extents a, const Extent&) {
  return 1 + 2 * size_of(a[0]) * size_of(a[1]);
}

#define FOR_ORDERED(name, run)                                                                              \
  {name, "list(int).() bool", run, cost_of_items}, {name, "list(uint).() bool", run, cost_of_items},        \
      {name, "list(double).() bool", run, cost_of_items}, {name, "list(bool).() bool", run, cost_of_items}, \
      {name, "list(duration).() bool", run, cost_of_items},                                                 \
      {name, "list(timestamp).() bool", run, cost_of_items},                                                \
      {name, "list(string).() bool", run, cost_of_items}, {                                                 \
    name, "list(bytes).() bool", run, cost_of_items                                                         \
  }
#define FOR_ITEMS(name, run)                                                                        \
  {name, "list(int).() int", run, cost_of_items}, {name, "list(uint).() uint", run, cost_of_items}, \
      {name, "list(double).() double", run, cost_of_items},                                         \
      {name, "list(bool).() bool", run, cost_of_items},                                             \
      {name, "list(duration).() duration", run, cost_of_items},                                     \
      {name, "list(timestamp).() timestamp", run, cost_of_items},                                   \
      {name, "list(string).() string", run, cost_of_items}, {                                       \
    name, "list(bytes).() bytes", run, cost_of_items                                                \
  }

constexpr FunctionRow kListsRows[] = {
    FOR_ORDERED("isSorted", is_sorted),
    {"sum", "list(int).() int", sum, cost_of_items},
    {"sum", "list(uint).() uint", sum, cost_of_items},
    {"sum", "list(double).() double", sum, cost_of_items},
    {"sum", "list(duration).() duration", sum, cost_of_items},
    FOR_ITEMS("min", min),
    FOR_ITEMS("max", max),
    {"indexOf", "list(A).(A) int", index_in_list, cost_of_items},
    {"lastIndexOf", "list(A).(A) int", last_index_in_list, cost_of_items},
    {"distinct", "list(A).() list(A)", distinct, quadratic_cost},
    {"flatten", "list(list(A)).() list(A)", flatten, new_list_cost},
    {"flatten", "list(dyn).(int) list(dyn)", flatten_levels, new_list_cost},
    {"slice", "list(A).(int, int) list(A)", slice, new_list_cost},
    {"sort", "list(int).() list(int)", sort, quadratic_cost},
    {"sort", "list(uint).() list(uint)", sort, quadratic_cost},
    {"sort", "list(double).() list(double)", sort, quadratic_cost},
    {"sort", "list(bool).() list(bool)", sort, quadratic_cost},
    {"sort", "list(duration).() list(duration)", sort, quadratic_cost},
    {"sort", "list(timestamp).() list(timestamp)", sort, quadratic_cost},
    {"sort", "list(string).() list(string)", sort, quadratic_cost},
    {"sort", "list(bytes).() list(bytes)", sort, quadratic_cost},
    {"@sortByAssociatedKeys", "list(A).(list(int)) list(A)", sort_by_keys, quadratic_cost},
    {"@sortByAssociatedKeys", "list(A).(list(uint)) list(A)", sort_by_keys, quadratic_cost},
    {"@sortByAssociatedKeys", "list(A).(list(double)) list(A)", sort_by_keys, quadratic_cost},
    {"@sortByAssociatedKeys", "list(A).(list(bool)) list(A)", sort_by_keys, quadratic_cost},
    {"@sortByAssociatedKeys", "list(A).(list(duration)) list(A)", sort_by_keys, quadratic_cost},
    {"@sortByAssociatedKeys", "list(A).(list(timestamp)) list(A)", sort_by_keys, quadratic_cost},
    {"@sortByAssociatedKeys", "list(A).(list(string)) list(A)", sort_by_keys, quadratic_cost},
    {"@sortByAssociatedKeys", "list(A).(list(bytes)) list(A)", sort_by_keys, quadratic_cost},
    {"reverse", "list(A).() list(A)", reverse, new_list_cost},
    {"first", "list(A).() optional(A)", first},
    {"last", "list(A).() optional(A)", last},
    {"lists.range", "(int) list(int)", range, new_list_cost},
    {"sets.contains", "(list(A), list(A)) bool", sets_contains, product_cost},
    {"sets.equivalent", "(list(A), list(A)) bool", sets_equivalent, double_product_cost},
    {"sets.intersects", "(list(A), list(A)) bool", sets_intersects, product_cost},
};
#undef FOR_ORDERED
#undef FOR_ITEMS

}  // namespace

std::span<const FunctionRow> list_attribute_rows() {
  static constexpr FunctionRow kOfListAttributes[] = {
      {"includes", "A.(dyn) bool", includes, cost_of_items},
  };
  return kOfListAttributes;
}

std::span<const FunctionRow> list_rows() {
  return kListsRows;
}

}  // namespace berth::cel
