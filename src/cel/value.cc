#include "cel/value.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "base/assert.h"
#include "cel/builders.h"
#include "cel/work.h"

namespace berth::cel {
namespace {

class VectorList : public ListSource {
 public:
  explicit VectorList(std::vector<Value> items) : items(std::move(items)) {}
  std::size_t size() const override { return items.size(); }
  Value at(std::size_t index) const override { return items[index]; }

  std::vector<Value> items;
};

template <class T>
Order order_of(const T& a, const T& b) {
  return a < b ? Order::Less : b < a ? Order::Greater : Order::Equal;
}

Order reversed(Order order) {
  if (order == Order::Less) return Order::Greater;
  if (order == Order::Greater) return Order::Less;
  return order;
}

// An integer and a double compare as doubles, as in cel-go: neighbours beyond 2^53 are equal.
Order compare_doubles(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? Order::NotANumber : order_of(a, b);
}

Order compare_numbers(const Value& a, const Value& b) {
  if (a.kind() > b.kind()) return reversed(compare_numbers(b, a));
  if (a.is(Kind::Int)) {
    if (b.is(Kind::Int)) return order_of(a.as_int(), b.as_int());
    if (b.is(Kind::Uint))
      return a.as_int() < 0 ? Order::Less : order_of(std::uint64_t(a.as_int()), b.as_uint());
    return compare_doubles(static_cast<double>(a.as_int()), b.as_double());
  }
  if (a.is(Kind::Uint)) {
    if (b.is(Kind::Uint)) return order_of(a.as_uint(), b.as_uint());
    return compare_doubles(static_cast<double>(a.as_uint()), b.as_double());
  }
  return compare_doubles(a.as_double(), b.as_double());
}

Equality equality_of(bool same) {
  return same ? Equality::Same : Equality::Different;
}

Equality equality_of_lists(const ListSource& a, const ListSource& b) {
  if (a.size() != b.size()) return Equality::Different;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (equality(a.at(i), b.at(i)) == Equality::Different) return Equality::Different;
  return Equality::Same;
}

Equality equality_of_maps(const MapSource& a, const MapSource& b) {
  if (a.size() != b.size()) return Equality::Different;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Value key = a.key_at(i);
    Value left, right;
    if (!a.find(key, left) || !b.contains(key) || !b.find(key, right) ||
        equality(left, right) == Equality::Different)
      return Equality::Different;
  }
  return Equality::Same;
}

std::size_t hash_text(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

}  // namespace

bool MapSource::contains(const Value& key) const {
  Value ignored;
  return find(key, ignored);
}
std::string MapSource::missing_key_hint(const Value&) const {
  return {};
}
Value ObjectSource::field(std::size_t) const {
  return Value::error("no such field");
}
bool ObjectSource::equals(const ObjectSource& other) const {
  return this == &other;
}

Value Value::of_bool(bool value) {
  Value v;
  v.kind_ = Kind::Bool;
  v.bool_ = value;
  return v;
}
Value Value::of_int(std::int64_t value) {
  Value v;
  v.kind_ = Kind::Int;
  v.int_ = value;
  return v;
}
Value Value::of_uint(std::uint64_t value) {
  Value v;
  v.kind_ = Kind::Uint;
  v.uint_ = value;
  return v;
}
Value Value::of_double(double value) {
  Value v;
  v.kind_ = Kind::Double;
  v.double_ = value;
  return v;
}
Value Value::of_duration(std::int64_t nanos) {
  Value v;
  v.kind_ = Kind::Duration;
  v.int_ = nanos;
  return v;
}
Value Value::of_instant(Instant instant) {
  Value v;
  v.kind_ = Kind::Timestamp;
  v.int_ = instant.seconds;
  v.extra_ = static_cast<std::uint32_t>(instant.nanos);
  return v;
}
Value Value::text_of(Kind kind, std::string text) {
  BERTH_ASSERT(text.size() <= UINT32_MAX, "texts are bounded where they are made");
  spend_work(text.size() / kBytesPerStep);
  const auto owned = std::make_shared<const std::string>(std::move(text));
  Value v;
  v.kind_ = kind;
  v.chars_ = owned->data();
  v.extra_ = static_cast<std::uint32_t>(owned->size());
  v.owner_ = owned;
  return v;
}
Value Value::of_string(std::string text) {
  return text_of(Kind::String, std::move(text));
}
Value Value::of_bytes(std::string bytes) {
  return text_of(Kind::Bytes, std::move(bytes));
}
Value Value::of_type(std::string name) {
  return text_of(Kind::Type, std::move(name));
}
Value Value::error(std::string text) {
  return text_of(Kind::Error, std::move(text));
}
Value Value::of_list(std::vector<Value> items) {
  spend_work(items.size());
  return of_list(std::make_shared<VectorList>(std::move(items)));
}
Value Value::of_list(std::shared_ptr<const ListSource> list) {
  Value v = borrow_list(*list);
  v.owner_ = std::move(list);
  return v;
}
Value Value::of_map(std::shared_ptr<const MapSource> map) {
  Value v = borrow_map(*map);
  v.owner_ = std::move(map);
  return v;
}
Value Value::of_object(std::shared_ptr<const ObjectSource> object) {
  Value v = borrow_object(*object);
  v.owner_ = std::move(object);
  return v;
}
Value Value::of_quantity(berth::Quantity quantity) {
  const auto owned = std::make_shared<const berth::Quantity>(quantity);
  Value v = borrow_quantity(*owned);
  v.owner_ = owned;
  return v;
}
Value Value::of_semver(SemVer version) {
  const auto owned = std::make_shared<const SemVer>(std::move(version));
  Value v = borrow_semver(*owned);
  v.owner_ = owned;
  return v;
}
Value Value::some(Value inner) {
  const auto owned = std::make_shared<const Value>(std::move(inner));
  Value v;
  v.kind_ = Kind::Optional;
  v.inner_ = owned.get();
  v.owner_ = owned;
  return v;
}
Value Value::none() {
  Value v;
  v.kind_ = Kind::Optional;
  v.inner_ = nullptr;
  return v;
}

Value Value::borrow_string(std::string_view text) {
  Value v;
  v.kind_ = Kind::String;
  v.chars_ = text.data();
  v.extra_ = static_cast<std::uint32_t>(text.size());
  return v;
}
Value Value::borrow_list(const ListSource& list) {
  Value v;
  v.kind_ = Kind::List;
  v.list_ = &list;
  return v;
}
Value Value::borrow_map(const MapSource& map) {
  Value v;
  v.kind_ = Kind::Map;
  v.map_ = &map;
  return v;
}
Value Value::borrow_object(const ObjectSource& object) {
  Value v;
  v.kind_ = Kind::Object;
  v.object_ = &object;
  return v;
}
Value Value::borrow_quantity(const berth::Quantity& quantity) {
  Value v;
  v.kind_ = Kind::Quantity;
  v.quantity_ = &quantity;
  return v;
}
Value Value::borrow_semver(const SemVer& version) {
  Value v;
  v.kind_ = Kind::Semver;
  v.semver_ = &version;
  return v;
}

std::string_view Value::type_name() const {
  static constexpr std::string_view kNames[] = {"null_type",
                                                "bool",
                                                "int",
                                                "uint",
                                                "double",
                                                "string",
                                                "bytes",
                                                "list",
                                                "map",
                                                "google.protobuf.Duration",
                                                "google.protobuf.Timestamp",
                                                "type",
                                                "optional_type",
                                                "kubernetes.Quantity",
                                                "kubernetes.Semver",
                                                "",
                                                "error"};
  if (kind_ == Kind::Object) return object_->type_name();
  return kNames[static_cast<std::size_t>(kind_)];
}

bool is_of_library(const Value& value) {
  return value.is(Kind::Quantity) || value.is(Kind::Semver) ||
         (value.is(Kind::Object) && value.as_object().is_opaque());
}

namespace {

// Here null is a kind like any other.
Equality equality_of_inner(const Value& a, const Value& b) {
  return is_of_library(a) && b.is(Kind::Null) ? Equality::NoOverload : equality(a, b);
}

}  // namespace

Equality equality(const Value& a, const Value& b) {
  if (!spend_work(1)) return Equality::Different;
  if (a.is_number() && b.is_number()) return equality_of(compare_numbers(a, b) == Order::Equal);
  if (a.kind() != b.kind())
    return is_of_library(a) && !b.is(Kind::Null) ? Equality::NoOverload : Equality::Different;
  switch (a.kind()) {
    case Kind::Null:
      return Equality::Same;
    case Kind::Bool:
      return equality_of(a.as_bool() == b.as_bool());
    case Kind::String:
    case Kind::Bytes:
    case Kind::Type:
    case Kind::Error:
      return equality_of(a.as_text() == b.as_text());
    case Kind::List:
      return equality_of_lists(a.as_list(), b.as_list());
    case Kind::Map:
      return equality_of_maps(a.as_map(), b.as_map());
    case Kind::Duration:
      return equality_of(a.as_nanos() == b.as_nanos());
    case Kind::Timestamp:
      return equality_of(a.as_instant() == b.as_instant());
    case Kind::Optional:
      if (a.has_inner() && b.has_inner()) return equality_of_inner(a.inner(), b.inner());
      return equality_of(a.has_inner() == b.has_inner());
    case Kind::Quantity:
      return equality_of(a.as_quantity() == b.as_quantity());
    case Kind::Semver:
      return equality_of(a.as_semver() == b.as_semver());
    default:
      if (a.type_name() == b.type_name()) return equality_of(a.as_object().equals(b.as_object()));
      return is_of_library(a) ? Equality::NoOverload : Equality::Different;
  }
}

Order compare(const Value& a, const Value& b) {
  spend_work(1);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.kind() != b.kind()) return Order::Incomparable;
  switch (a.kind()) {
    case Kind::Bool:
      return order_of(a.as_bool(), b.as_bool());
    case Kind::String:
    case Kind::Bytes:
      return order_of(a.as_text(), b.as_text());
    case Kind::Duration:
      return order_of(a.as_nanos(), b.as_nanos());
    case Kind::Timestamp:
      return order_of(a.as_instant(), b.as_instant());
    default:
      return Order::Incomparable;
  }
}

std::size_t hash_of(const Value& value) {
  switch (value.kind()) {
    case Kind::Bool:
      return value.as_bool() ? 2 : 1;
    case Kind::Int:
      return std::hash<double>()(static_cast<double>(value.as_int()));
    case Kind::Uint:
      return std::hash<double>()(static_cast<double>(value.as_uint()));
    case Kind::Double:
      return std::hash<double>()(value.as_double());
    case Kind::String:
    case Kind::Bytes:
    case Kind::Type:
      return hash_text(value.as_text());
    case Kind::Duration:
      return std::hash<std::int64_t>()(value.as_nanos());
    case Kind::Timestamp:
      return std::hash<std::int64_t>()(value.as_instant().seconds);
    default:
      return static_cast<std::size_t>(value.kind());
  }
}

std::size_t code_point_count(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::size_t size_of(const Value& value) {
  switch (value.kind()) {
    case Kind::String:
      spend_work(value.as_text().size() / kBytesPerStep);
      return code_point_count(value.as_text());
    case Kind::Bytes:
      return value.as_text().size();
    case Kind::List:
      return value.as_list().size();
    case Kind::Map:
      return value.as_map().size();
    case Kind::Object:
      return value.as_object().size();
    default:
      return 1;
  }
}

class MapBuilder::Entries : public MapSource {
 public:
  std::size_t size() const override { return entries_.size(); }
  Value key_at(std::size_t index) const override { return entries_[index].first; }
  bool find(const Value& key, Value& out) const override {
    const std::size_t at = position_of(key);
    if (at == entries_.size()) return false;
    out = entries_[at].second;
    return true;
  }
  bool insert(Value key, Value value) {
    const std::size_t at = position_of(key);
    if (at < entries_.size()) {
      entries_[at].second = std::move(value);
      return false;
    }
    by_hash_.emplace(hash_of(key), entries_.size());
    entries_.emplace_back(std::move(key), std::move(value));
    return true;
  }

 private:
  std::size_t position_of(const Value& key) const {
    const auto [begin, end] = by_hash_.equal_range(hash_of(key));
    for (auto it = begin; it != end; ++it)
      if (equal(entries_[it->second].first, key)) return it->second;
    return entries_.size();
  }

  std::vector<std::pair<Value, Value>> entries_;
  std::unordered_multimap<std::size_t, std::size_t> by_hash_;
};

MapBuilder::MapBuilder() : entries_(std::make_shared<Entries>()) {}
MapBuilder::~MapBuilder() = default;
bool MapBuilder::insert(Value key, Value value) {
  return entries_->insert(std::move(key), std::move(value));
}
Value MapBuilder::take() {
  spend_work(entries_->size());
  return Value::of_map(std::shared_ptr<const MapSource>(std::move(entries_)));
}

Value MapBuilder::insert_into(Value map, Value key, Value value) {
  const auto* own = dynamic_cast<const Entries*>(&map.as_map());
  if (own && map.owner_.use_count() == 1) {
    const_cast<Entries*>(own)->insert(std::move(key), std::move(value));
    return map;
  }
  MapBuilder builder;
  for (std::size_t i = 0; i < map.as_map().size(); ++i) {
    const Value old_key = map.as_map().key_at(i);
    Value old;
    map.as_map().find(old_key, old);
    builder.insert(old_key, std::move(old));
  }
  builder.insert(std::move(key), std::move(value));
  return builder.take();
}

Value ListAppender::append(Value list, Value item) {
  const auto* own = dynamic_cast<const VectorList*>(&list.as_list());
  if (own && list.owner_.use_count() == 1) {
    const_cast<VectorList*>(own)->items.push_back(std::move(item));
    return list;
  }
  std::vector<Value> items;
  items.reserve(list.as_list().size() + 1);
  for (std::size_t i = 0; i < list.as_list().size(); ++i) items.push_back(list.as_list().at(i));
  items.push_back(std::move(item));
  return Value::of_list(std::move(items));
}

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

std::string container_text(const Value& value) {
  std::string out;
  if (value.is(Kind::List)) {
    for (std::size_t i = 0; i < value.as_list().size(); ++i)
      out += (i ? ", " : "") + debug_text(value.as_list().at(i));
    return "[" + out + "]";
  }
  for (std::size_t i = 0; i < value.as_map().size(); ++i) {
    const Value key = value.as_map().key_at(i);
    Value inner;
    value.as_map().find(key, inner);
    out += (i ? ", " : "") + debug_text(key) + ": " + debug_text(inner);
  }
  return "{" + out + "}";
}

}  // namespace

std::string double_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  for (int digits = 1; digits <= 17; ++digits) {
    char shortest[48];
    std::snprintf(shortest, sizeof shortest, "%.*e", digits - 1, value);
    if (std::strtod(shortest, nullptr) != value) continue;
    const int exponent = std::atoi(std::strchr(shortest, 'e') + 1);
    if (value != 0 && (exponent < -4 || exponent >= 21)) return shortest;
    char plain[64];
    std::snprintf(plain, sizeof plain, "%.*f", std::max(digits - 1 - exponent, 0), value);
    return plain;
  }
  return "NaN";
}

std::string text_of(const Value& value) {
  if (value.is(Kind::String)) return std::string(value.as_text());
  if (value.is(Kind::Uint)) return std::to_string(value.as_uint());
  if (value.is(Kind::Double)) return double_text(value.as_double());
  return debug_text(value);
}

std::string debug_text(const Value& value) {
  switch (value.kind()) {
    case Kind::Null:
      return "null";
    case Kind::Bool:
      return value.as_bool() ? "true" : "false";
    case Kind::Int:
      return std::to_string(value.as_int());
    case Kind::Uint:
      return std::to_string(value.as_uint()) + "u";
    case Kind::Double: {
      std::string text = double_text(value.as_double());
      return text.find_first_of(".enN") == std::string::npos ? text + ".0" : text;
    }
    case Kind::String:
      return quoted(value.as_text());
    case Kind::Bytes:
      return "b" + quoted(value.as_text());
    case Kind::List:
    case Kind::Map:
      return container_text(value);
    case Kind::Duration:
      return "duration(" + std::to_string(value.as_nanos()) + "ns)";
    case Kind::Timestamp:
      return "timestamp(" + std::to_string(value.as_instant().seconds) + ")";
    case Kind::Optional:
      return value.has_inner() ? "optional.of(" + debug_text(value.inner()) + ")" : "optional.none()";
    case Kind::Quantity:
      return "quantity(" + value.as_quantity().text() + ")";
    case Kind::Semver:
      return "semver(" + value.as_semver().text() + ")";
    case Kind::Type:
    case Kind::Error:
      return std::string(value.as_text());
    default:
      return std::string(value.type_name()) + "{}";
  }
}

}  // namespace berth::cel
