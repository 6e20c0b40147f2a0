#include "admission/json_values.h"

#include <cmath>
#include <limits>

#include "base/base64.h"
#include "cel/messages.h"
#include "cel/times.h"

namespace berth::admission {
namespace {

using cel::Value;

class DocumentMap final : public cel::MapSource {
 public:
  explicit DocumentMap(const Json& object) : members_(object.as_object()) {}
  std::size_t size() const override { return members_.size(); }
  Value key_at(std::size_t index) const override {
    return Value::borrow_string((members_.begin() + static_cast<std::ptrdiff_t>(index))->key);
  }
  bool find(const Value& key, Value& out) const override {
    const Json* member = key.is(cel::Kind::String) ? members_.find(key.as_text()) : nullptr;
    if (member) out = value_of(*member);
    return member != nullptr;
  }

 private:
  const JsonObject& members_;
};

class DocumentList final : public cel::ListSource {
 public:
  explicit DocumentList(const Json& list) : items_(list.as_array()) {}
  std::size_t size() const override { return items_.size(); }
  Value at(std::size_t index) const override { return value_of(items_[index]); }

 private:
  const JsonArray& items_;
};

// One value, written as JSON.
class JsonWriter {
 public:
  Result<Json> written(const Value& value) {
    if (depth_ == kJsonDepthMax) return refused("is nested too deep");
    ++depth_;
    Result<Json> json = container(value);
    --depth_;
    return json;
  }

 private:
  static Error refused(const std::string& why) {
    return Error(ErrorCode::Invalid, "the value of the expression " + why);
  }

  Status spend(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ <= kMadeJsonBytesMax) return {};
    return Error(ErrorCode::TooLarge,
                 "the value of the expression has more than " + std::to_string(kMadeJsonBytesMax) + " bytes");
  }

  Result<Json> container(const Value& value) {
    constexpr std::size_t kEnds = 2;  // brackets, or what a short scalar needs
    TRY(spend(kEnds));
    if (value.is(cel::Kind::List)) return list(value.as_list());
    if (value.is(cel::Kind::Map)) return map(value.as_map());
    if (const auto* message =
            value.is(cel::Kind::Object) ? dynamic_cast<const cel::Message*>(&value.as_object()) : nullptr)
      return object(*message);
    return scalar(value);
  }

  Result<Json> list(const cel::ListSource& list) {
    JsonArray items;
    for (std::size_t i = 0; i < list.size(); ++i) items.push_back(TRY(written(list.at(i))));
    return Json(std::move(items));
  }

  Result<Json> map(const cel::MapSource& map) {
    JsonObject members;
    for (std::size_t i = 0; i < map.size(); ++i) {
      const Value key = map.key_at(i);
      Value value;
      map.find(key, value);
      if (!key.is(cel::Kind::String))
        return refused("has a map with the key " + debug_text(key) + ", which is no text");
      TRY(spend(key.as_text().size()));
      members[key.as_text()] = TRY(written(value));
    }
    return Json(std::move(members));
  }

  Result<Json> object(const cel::Message& message) {
    JsonObject members;
    for (const cel::MessageField& field : message.fields()) {
      TRY(spend(field.name.size()));
      members[field.name] = TRY(written(field.value));
    }
    return Json(std::move(members));
  }

  Result<Json> scalar(const Value& value) {
    switch (value.kind()) {
      case cel::Kind::Null:
        return Json();
      case cel::Kind::Bool:
        return Json(value.as_bool());
      case cel::Kind::Int:
        return Json(value.as_int());
      case cel::Kind::Uint:
        return value.as_uint() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                   ? Json(static_cast<double>(value.as_uint()))
                   : Json(static_cast<std::int64_t>(value.as_uint()));
      case cel::Kind::Double:
        if (!std::isfinite(value.as_double())) return refused("has a number that JSON does not have");
        return Json(value.as_double());
      case cel::Kind::String:
        TRY(spend(value.as_text().size()));
        return Json(value.as_text());
      case cel::Kind::Bytes:
        TRY(spend(value.as_text().size()));
        return Json(base64_encode(value.as_text()));
      case cel::Kind::Duration:
        return Json(cel::duration_text(value.as_nanos()));
      case cel::Kind::Timestamp:
        return Json(cel::instant_text(value.as_instant()));
      case cel::Kind::Error:
        return refused("cannot be read: " + std::string(value.as_text()));
      default:
        return refused("has a " + std::string(value.type_name()) + ", which JSON does not have");
    }
  }

  std::size_t depth_ = 0, bytes_ = 0;
};

}  // namespace

Result<Json> json_of(const Value& value) {
  return JsonWriter().written(value);
}

cel::Value value_of(const Json& json) {
  if (json.is_bool()) return Value::of_bool(json.as_bool());
  if (json.is_int()) return Value::of_int(json.as_int());
  if (json.is_double()) return Value::of_double(json.as_double());
  if (json.is_string()) return Value::borrow_string(json.as_string());
  if (json.is_array()) return Value::of_list(std::make_shared<DocumentList>(json));
  if (json.is_object()) return Value::of_map(std::make_shared<DocumentMap>(json));
  return Value();
}

}  // namespace berth::admission
