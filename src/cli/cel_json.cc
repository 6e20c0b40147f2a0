#include "cli/cel_json.h"

#include <charconv>
#include <cmath>

#include "base/base64.h"
#include "cel/builders.h"
#include "cel/times.h"

namespace berth::cli {
namespace {

using cel::Kind;
using cel::TypeKind;
using cel::Value;

Error wrong(std::string_view member, std::string_view why) {
  return Error(ErrorCode::Invalid, std::string(member), std::string(why));
}

// A JSON number, or its text.
template <class T>
Result<T> number_of(std::string_view member, const Json& json) {
  T value{};
  const std::string text = json.is_string() ? json.as_string() : to_string(json);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return wrong(member, "is no number of this kind");
  return value;
}

Result<double> double_of(const Json& json) {
  if (json.is_string() && json.as_string() == "NaN") return std::nan("");
  if (json.is_string() && json.as_string() == "Infinity") return HUGE_VAL;
  if (json.is_string() && json.as_string() == "-Infinity") return -HUGE_VAL;
  return number_of<double>("double", json);
}

Result<Value> text_value(std::string_view member, const Json& json) {
  if (!json.is_string()) return wrong(member, "must be a JSON string");
  const std::string& text = json.as_string();
  if (member == "string") return Value::of_string(text);
  if (member == "bytes") {
    const Result<std::string> bytes = base64_decode(text);
    if (!bytes) return wrong(member, "is no base64");
    return Value::of_bytes(*bytes);
  }
  if (member == "duration") {
    const auto nanos = cel::parse_nanos(text);
    if (!nanos) return wrong(member, "is no duration such as 1h30m");
    return Value::of_duration(*nanos);
  }
  const auto instant = cel::parse_instant(text);
  if (!instant) return wrong(member, "is no RFC 3339 time");
  return Value::of_instant(*instant);
}

Result<Value> scalar_of(std::string_view member, const Json& json) {
  if (member == "null") return Value();
  if (member == "bool") {
    if (!json.is_bool()) return wrong(member, "must be true or false");
    return Value::of_bool(json.as_bool());
  }
  if (member == "int") return Value::of_int(TRY(number_of<std::int64_t>(member, json)));
  if (member == "uint") return Value::of_uint(TRY(number_of<std::uint64_t>(member, json)));
  if (member == "double") return Value::of_double(TRY(double_of(json)));
  return text_value(member, json);
}

struct KindRow {
  std::string_view name;
  TypeKind type;
  Kind kind;
};
constexpr KindRow kScalars[] = {
    {"null", TypeKind::Null, Kind::Null},
    {"bool", TypeKind::Bool, Kind::Bool},
    {"int", TypeKind::Int, Kind::Int},
    {"uint", TypeKind::Uint, Kind::Uint},
    {"double", TypeKind::Double, Kind::Double},
    {"string", TypeKind::String, Kind::String},
    {"bytes", TypeKind::Bytes, Kind::Bytes},
    {"duration", TypeKind::Duration, Kind::Duration},
    {"timestamp", TypeKind::Timestamp, Kind::Timestamp},
};

cel::TypeRef dyn() {
  return cel::simple_type(TypeKind::Dyn);
}

// Members of a JSON object are entries with text keys; an array holds [key, value] pairs.
Result<TypedValue> map_of(const Json& json) {
  cel::MapBuilder map;
  if (json.is_object()) {
    for (const JsonMember& member : json.as_object())
      map.insert(Value::of_string(member.key), TRY(typed_value_of(member.value)).value);
  } else if (json.is_array()) {
    for (const Json& pair : json.as_array()) {
      if (!pair.is_array() || pair.as_array().size() != 2) return wrong("map", "an entry is [key, value]");
      map.insert(TRY(typed_value_of(pair.as_array()[0])).value,
                 TRY(typed_value_of(pair.as_array()[1])).value);
    }
  } else {
    return wrong("map", "must be a JSON object or a list of pairs");
  }
  return TypedValue{cel::map_type(dyn(), dyn()), map.take()};
}

Result<TypedValue> list_of(const Json& json) {
  if (!json.is_array()) return wrong("list", "must be a JSON array");
  std::vector<Value> items;
  for (const Json& item : json.as_array()) items.push_back(TRY(typed_value_of(item)).value);
  return TypedValue{cel::list_type(dyn()), Value::of_list(std::move(items))};
}

Result<Value> attribute_of(const Json& json) {
  if (const Json* text = json.find("version")) {
    const Result<SemVer> version = text->is_string() ? parse_semver(text->as_string())
                                                     : Result<SemVer>(wrong("version", "must be a string"));
    // A text that does not parse fails when an expression reads it.
    return version ? Value::of_semver(*version) : Value::error(std::string(version.error().message()));
  }
  for (const char* scalar : {"string", "int", "bool"})
    if (const Json* value = json.find(scalar)) return scalar_of(scalar, *value);
  static constexpr std::pair<const char*, const char*> kLists[] = {
      {"strings", "string"}, {"ints", "int"}, {"bools", "bool"}, {"versions", "version"}};
  for (const auto& [list, single] : kLists) {
    if (!json.find(list)) continue;
    std::vector<Value> items;
    for (const Json& item : json.items_at(list))
      items.push_back(TRY(attribute_of(Json::object({{single, item}}))));
    return Value::of_list(std::move(items));
  }
  return wrong("", "names no kind of attribute: string, int, bool, version, strings, ints, bools, versions");
}

Json json_of_list(const cel::ListSource& list) {
  Json array = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i) array.as_array().push_back(json_of(list.at(i)));
  return array;
}

Json json_of_map(const cel::MapSource& map) {
  Json object = Json::object();
  for (std::size_t i = 0; i < map.size(); ++i) {
    const Value key = map.key_at(i);
    Value value;
    map.find(key, value);
    object[key.is(Kind::String) ? std::string(key.as_text()) : cel::text_of(key)] = json_of(value);
  }
  return object;
}

}  // namespace

Result<TypedValue> typed_value_of(const Json& json) {
  if (!json.is_object() || json.as_object().size() != 1)
    return wrong("", "a value is an object with one member that names its kind");
  const JsonMember& member = *json.as_object().begin();
  if (member.key == "list") return list_of(member.value);
  if (member.key == "map") return map_of(member.value);
  for (const KindRow& row : kScalars)
    if (row.name == member.key)
      return TypedValue{cel::simple_type(row.type), TRY(scalar_of(member.key, member.value))};
  return wrong(member.key, "is no kind of value");
}

Result<cel::DeviceRecord> device_of(const Json& json) {
  cel::DeviceRecord device(std::string(json.string_at("driver")), json.bool_at("allowMultipleAllocations"));
  if (const Json& attributes = json.part("attributes"); attributes.is_object())
    for (const auto& [name, value] : attributes.as_object()) {
      Result<Value> attribute = attribute_of(value);
      if (!attribute) return wrong("device.attributes[" + name + "]", attribute.error().text());
      device.add_attribute(name, std::move(*attribute));
    }
  if (const Json& capacity = json.part("capacity"); capacity.is_object())
    for (const auto& [name, value] : capacity.as_object()) {
      const Result<Quantity> amount = parse_quantity(value.string_at("value"));
      if (!amount) return wrong("device.capacity[" + name + "].value", amount.error().text());
      device.add_capacity(name, *amount);
    }
  return device;
}

Json json_of(const Value& value) {
  switch (value.kind()) {
    case Kind::Null:
      return {};
    case Kind::Bool:
      return value.as_bool();
    case Kind::Double: {
      const double number = value.as_double();
      if (std::isnan(number)) return "NaN";
      if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
      return number;
    }
    case Kind::String:
      return std::string(value.as_text());
    case Kind::Bytes:
      return base64_encode(value.as_text());
    case Kind::List:
      return json_of_list(value.as_list());
    case Kind::Map:
      return json_of_map(value.as_map());
    case Kind::Duration:
      return cel::duration_text(value.as_nanos());
    case Kind::Timestamp:
      return cel::instant_text(value.as_instant());
    case Kind::Optional:
      return value.has_inner() ? json_of(value.inner()) : Json();
    case Kind::Quantity:
      return value.as_quantity().text();
    case Kind::Semver:
      return value.as_semver().text();
    case Kind::Int:
    case Kind::Uint:
      return cel::text_of(value);
    case Kind::Type:
    case Kind::Object:
    case Kind::Error:
      break;
  }
  return cel::debug_text(value);
}

std::string type_name_of(const Value& value) {
  for (const KindRow& row : kScalars)
    if (row.kind == value.kind()) return std::string(row.name);
  return std::string(value.type_name());
}

}  // namespace berth::cli
