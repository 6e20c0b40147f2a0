#include "dra/columns/value_key.h"

#include "base/key_bytes.h"

namespace berth::dra {
namespace {

using cel::Value;
using Form = ValueKey::Form;

struct ToValue {
  Value& out;
  Ownership ownership;

  bool operator()(std::monostate) const { return false; }
  bool operator()(std::int64_t value) const { return (out = Value::of_int(value), true); }
  bool operator()(bool value) const { return (out = Value::of_bool(value), true); }
  bool operator()(const std::string& value) const {
    out = ownership == Ownership::Owned ? Value::of_string(value) : Value::borrow_string(value);
    return true;
  }
  bool operator()(const api::AttributeVersion& value) const {
    Result<SemVer> version = parse_semver(value.text);
    if (!version) return false;
    out = Value::of_semver(std::move(*version));
    return true;
  }
  bool operator()(const std::vector<bool>& list) const {
    std::vector<Value> items;
    for (const bool item : list) items.push_back(Value::of_bool(item));
    out = Value::of_list(std::move(items));
    return true;
  }
  template <class T>
  bool operator()(const std::vector<T>& list) const {
    std::vector<Value> items;
    for (const T& item : list) {
      Value value;
      if (ToValue{value, ownership}(item)) items.push_back(std::move(value));
    }
    out = Value::of_list(std::move(items));
    return true;
  }
};

// Each kind of value starts with a letter of its own; the parts of a list are prefixed with their length.
struct ToKey {
  std::string& scratch;

  ValueKey operator()(std::monostate) const { return {}; }
  ValueKey operator()(std::int64_t value) const { return {Form::Int, value, {}}; }
  ValueKey operator()(bool value) const { return {Form::Bool, value ? 1 : 0, {}}; }
  ValueKey operator()(const std::string& value) const { return {Form::Text, 0, value}; }
  ValueKey operator()(const api::AttributeVersion& value) const {
    scratch = "v" + value.text;
    return encoded();
  }
  ValueKey operator()(const std::vector<std::int64_t>& list) const {
    scratch = "i";
    for (const std::int64_t item : list) append(item);
    return encoded();
  }
  ValueKey operator()(const std::vector<bool>& list) const {
    scratch = "b";
    for (const bool item : list) scratch += item ? '1' : '0';
    return encoded();
  }
  ValueKey operator()(const std::vector<std::string>& list) const {
    scratch = "s";
    for (const std::string& item : list) append(item);
    return encoded();
  }
  ValueKey operator()(const std::vector<api::AttributeVersion>& list) const {
    scratch = "w";
    for (const api::AttributeVersion& item : list) append(item.text);
    return encoded();
  }

  template <class T>
  void append(const T& plain) const {
    append_plain(scratch, plain);
  }
  void append(const std::string& text) const {
    append(text.size());
    scratch += text;
  }
  ValueKey encoded() const { return {Form::Encoded, 0, scratch}; }
};

}  // namespace

std::optional<Value> cel_value(const api::AttributeValue& value, Ownership ownership) {
  Value out;
  if (!std::visit(ToValue{out, ownership}, value)) return std::nullopt;
  return out;
}

Error runtime_error(const cel::Failure& failure) {
  Error error(ErrorCode::Invalid, "CEL runtime error: " + failure.text);
  return failure.hint.empty() ? error : error.because_of(Error(ErrorCode::Invalid, failure.hint));
}

cel::DeviceRecord record_of(std::string_view driver, const api::Device& device) {
  cel::DeviceRecord record{std::string(driver), device.allow_multiple};
  for (const auto& [name, attribute] : device.attributes)
    if (std::optional<Value> value = cel_value(attribute, Ownership::Borrowed))
      record.add_attribute(name, std::move(*value));
  for (const auto& [name, capacity] : device.capacity) record.add_capacity(name, capacity.value);
  return record;
}

ValueKey key_of(const api::AttributeValue& value, std::string& scratch) {
  return std::visit(ToKey{scratch}, value);
}

ValueKey key_of(const Quantity& amount, std::string& scratch) {
  scratch = "q";
  const ToKey to_key{scratch};
  to_key.append(amount.nanos());
  to_key.append(amount.format());
  if (amount.is_beyond_nanos()) scratch += amount.text();
  return to_key.encoded();
}

bool is_key_of(const ValueKey& key, const api::AttributeValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return key.form == Form::Int && key.number == *number;
  if (const auto* flag = std::get_if<bool>(&value))
    return key.form == Form::Bool && (key.number != 0) == *flag;
  if (const auto* text = std::get_if<std::string>(&value))
    return key.form == Form::Text && same_text(key.text, *text);
  if (const auto* version = std::get_if<api::AttributeVersion>(&value))
    return key.form == Form::Encoded && key.text[0] == 'v' && same_text(key.text.substr(1), version->text);
  std::string scratch;
  return key == key_of(value, scratch);
}

bool is_key_of(const ValueKey& key, const Quantity& amount) {
  constexpr std::size_t kAmountAt = 1, kFormatAt = kAmountAt + sizeof(__int128);
  __int128 nanos = 0;
  Quantity::Format format{};
  if (key.form != Form::Encoded || key.text[0] != 'q') return false;
  std::memcpy(&nanos, key.text.data() + kAmountAt, sizeof nanos);
  std::memcpy(&format, key.text.data() + kFormatAt, sizeof format);
  return nanos == amount.nanos() && format == amount.format() &&
         key.text.substr(kFormatAt + sizeof format) == (amount.is_beyond_nanos() ? amount.text() : "");
}

ValueKey key_of(const Value& scalar) {
  if (scalar.is(cel::Kind::Int)) return {Form::Int, scalar.as_int(), {}};
  if (scalar.is(cel::Kind::Bool)) return {Form::Bool, scalar.as_bool() ? 1 : 0, {}};
  return {Form::Text, 0, scalar.as_text()};
}

}  // namespace berth::dra
