#include "admission/json_values.h"

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

}  // namespace

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
