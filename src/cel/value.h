// A CEL value: the result of literals, attributes and calls.
//
// Cost: 40 bytes; scalars, borrowed strings and borrowed sources need no heap. Copies share.
// Threads: a value may be read by many; sources must be immutable while any value refers to them.
// Source: the CEL language definition; kubernetes.Quantity and kubernetes.Semver from the Kubernetes
// libraries.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/semver.h"

namespace berth::cel {

class Value;

enum class Kind : std::uint8_t {
  Null,
  Bool,
  Int,
  Uint,
  Double,
  String,
  Bytes,
  List,
  Map,
  Duration,   // signed nanoseconds
  Timestamp,  // seconds and nanoseconds since 1970, years 1 to 9999
  Type,
  Optional,
  Quantity,
  Semver,
  Object,
  Error,  // only inside an evaluation
};

// Items by position. An implementation can pass a column to an expression without a copy.
class ListSource {
 public:
  virtual ~ListSource() = default;
  virtual std::size_t size() const = 0;
  virtual Value at(std::size_t index) const = 0;
};

// Entries by key, in a fixed order.
class MapSource {
 public:
  virtual ~MapSource() = default;
  virtual std::size_t size() const = 0;
  virtual Value key_at(std::size_t index) const = 0;
  // Writes the value of `key` to `out`; false when absent.
  virtual bool find(const Value& key, Value& out) const = 0;
  // The result of `in`. Differs from find() for DRA domains: an unknown one reads as an empty map.
  virtual bool contains(const Value& key) const;
  // A sentence after "no such key", or empty.
  virtual std::string missing_key_hint(const Value& key) const;
};

// A value of an object type that an Environment declares, or an opaque value of a library (IP, URL).
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  virtual std::string_view type_name() const = 0;
  // The field at its position in the declared ObjectType.
  virtual Value field(std::size_t index) const;
  virtual bool equals(const ObjectSource& other) const;
  // A library's own value, which has no fields.
  virtual bool is_opaque() const { return false; }
  // The size for size-dependent costs; 1 for an object without a size.
  virtual std::size_t size() const { return 1; }
};

struct Instant {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
  friend auto operator<=>(const Instant&, const Instant&) = default;
};

class Value {
 public:
  Value() : int_(0) {}

  static Value of_bool(bool value);
  static Value of_int(std::int64_t value);
  static Value of_uint(std::uint64_t value);
  static Value of_double(double value);
  static Value of_duration(std::int64_t nanos);
  static Value of_instant(Instant instant);
  static Value of_string(std::string text);
  static Value of_bytes(std::string bytes);
  static Value of_type(std::string name);
  static Value of_list(std::vector<Value> items);
  static Value of_list(std::shared_ptr<const ListSource> list);
  static Value of_map(std::shared_ptr<const MapSource> map);
  static Value of_object(std::shared_ptr<const ObjectSource> object);
  static Value of_quantity(berth::Quantity quantity);
  static Value of_semver(SemVer version);
  static Value some(Value inner);
  static Value none();
  static Value error(std::string text);

  // These refer to memory that the caller keeps alive as long as the value or any copy of it is used.
  static Value borrow_string(std::string_view text);
  static Value borrow_list(const ListSource& list);
  static Value borrow_map(const MapSource& map);
  static Value borrow_object(const ObjectSource& object);
  static Value borrow_quantity(const berth::Quantity& quantity);
  static Value borrow_semver(const SemVer& version);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_error() const { return kind_ == Kind::Error; }
  bool is_true() const { return kind_ == Kind::Bool && bool_; }
  bool is_number() const { return kind_ == Kind::Int || kind_ == Kind::Uint || kind_ == Kind::Double; }

  // The kind must match.
  bool as_bool() const { return bool_; }
  std::int64_t as_int() const { return int_; }
  std::uint64_t as_uint() const { return uint_; }
  double as_double() const { return double_; }
  std::int64_t as_nanos() const { return int_; }
  Instant as_instant() const { return {int_, static_cast<std::int32_t>(extra_)}; }
  // Strings, bytes, type names and error texts.
  std::string_view as_text() const { return {chars_, extra_}; }
  const ListSource& as_list() const { return *list_; }
  const MapSource& as_map() const { return *map_; }
  const ObjectSource& as_object() const { return *object_; }
  const berth::Quantity& as_quantity() const { return *quantity_; }
  const SemVer& as_semver() const { return *semver_; }
  bool has_inner() const { return inner_ != nullptr; }
  const Value& inner() const { return *inner_; }

  // "int", "list", "kubernetes.Quantity": the name that type() shows.
  std::string_view type_name() const;

 private:
  friend class ListAppender;
  friend class MapBuilder;
  static Value text_of(Kind kind, std::string text);

  Kind kind_ = Kind::Null;
  std::uint32_t extra_ = 0;
  union {
    bool bool_;
    std::int64_t int_;
    std::uint64_t uint_;
    double double_;
    const char* chars_;
    const ListSource* list_;
    const MapSource* map_;
    const ObjectSource* object_;
    const berth::Quantity* quantity_;
    const SemVer* semver_;
    const Value* inner_;
  };
  std::shared_ptr<const void> owner_;
};

// CEL equality: numbers by value across kinds, NaN unequal, containers by content. Different kinds are
// unequal. A value of a library (quantity, semver, URL, IP…) on the left has no overload for another kind.
// That is an error of ==, and no match anywhere else.
// As in cel-go, it also ends no comparison of containers.
enum class Equality : std::uint8_t { Different, Same, NoOverload };
Equality equality(const Value& a, const Value& b);
inline bool equal(const Value& a, const Value& b) {
  return equality(a, b) == Equality::Same;
}
// Whether equality() may have no overload for it on the left.
bool is_of_library(const Value& value);

enum class Order : std::uint8_t { Less, Equal, Greater, NotANumber, Incomparable };
Order compare(const Value& a, const Value& b);

// Equal values have equal hashes.
std::size_t hash_of(const Value& value);

// The size for size() and for size-dependent costs: code points, bytes, items, entries; 1 for anything else.
std::size_t size_of(const Value& value);
std::size_t code_point_count(std::string_view text);

// The result of string() for scalars; debug_text for other kinds.
std::string text_of(const Value& value);
// The shortest decimal text that parses to the same double, as Go prints it.
std::string double_text(double value);

// For messages and tests: strings quoted, maps in their order.
std::string debug_text(const Value& value);

}  // namespace berth::cel
