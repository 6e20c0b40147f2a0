#include "api/field_error.h"

#include <array>

namespace berth::api {
namespace {

struct TypeText {
  std::string_view reason;
  std::string_view words;
};

constexpr std::array<TypeText, 10> kTypes = {{
    {"FieldValueRequired", "Required value"},
    {"FieldValueInvalid", "Invalid value"},
    {"FieldValueNotSupported", "Unsupported value"},
    {"FieldValueDuplicate", "Duplicate value"},
    {"FieldValueForbidden", "Forbidden"},
    {"FieldValueTooLong", "Too long"},
    {"FieldValueTooMany", "Too many"},
    {"FieldValueTypeInvalid", "Invalid value"},
    {"FieldValueNotFound", "Not found"},
    {"InternalError", "Internal error"},
}};

const TypeText& text_of(FieldErrorType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

FieldError make(FieldErrorType type, std::string path, std::string_view rest) {
  std::string body(text_of(type).words);
  if (!rest.empty()) body.append(": ").append(rest);
  return {type, std::move(path), std::move(body)};
}

std::string with_detail(const Json& value, std::string_view detail) {
  std::string text = to_string(value);
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

}  // namespace

std::string_view cause_reason(FieldErrorType type) {
  return text_of(type).reason;
}

FieldError required(std::string path, std::string_view detail) {
  return make(FieldErrorType::Required, std::move(path), detail);
}

FieldError invalid(std::string path, const Json& value, std::string_view detail) {
  return make(FieldErrorType::Invalid, std::move(path), with_detail(value, detail));
}

FieldError not_supported(std::string path, const Json& value,
                         std::initializer_list<std::string_view> supported) {
  return not_supported(std::move(path), value, std::span(supported.begin(), supported.size()));
}

FieldError not_supported(std::string path, const Json& value, std::span<const std::string_view> supported) {
  std::string detail = "supported values: ";
  bool first = true;
  for (std::string_view option : supported) {
    if (!first) detail += ", ";
    first = false;
    append_json_string(detail, option);
  }
  return make(FieldErrorType::NotSupported, std::move(path), with_detail(value, detail));
}

FieldError duplicate(std::string path, const Json& value) {
  return make(FieldErrorType::Duplicate, std::move(path), to_string(value));
}

FieldError not_found(std::string path, const Json& value, std::string_view detail) {
  return make(FieldErrorType::NotFound, std::move(path), with_detail(value, detail));
}

FieldError forbidden(std::string path, std::string_view detail) {
  return make(FieldErrorType::Forbidden, std::move(path), detail);
}

FieldError too_long(std::string path, std::size_t bytes_max) {
  return make(FieldErrorType::TooLong, std::move(path),
              "may not be more than " + std::to_string(bytes_max) + " bytes");
}

FieldError too_many(std::string path, std::size_t count, std::size_t count_max) {
  return make(FieldErrorType::TooMany, std::move(path),
              std::to_string(count) + ": must have at most " + std::to_string(count_max) +
                  (count_max == 1 ? " item" : " items"));
}

FieldErrors::FieldErrors(std::initializer_list<FieldError> errors) {
  for (const FieldError& error : errors) push_back(error);
}

void FieldErrors::push_back(FieldError error) {
  const std::size_t bytes = error.path.size() + error.body.size();
  if (!errors_.empty() && (full() || bytes_ + bytes > kFieldErrorBytesMax)) {
    ++left_off_;
    return;
  }
  bytes_ += bytes;
  errors_.push_back(std::move(error));
}

void FieldErrors::cut(std::size_t count) {
  if (errors_.size() > count) left_off_ = 0;
  for (; errors_.size() > count; errors_.pop_back())
    bytes_ -= errors_.back().path.size() + errors_.back().body.size();
}

void append(FieldErrors& errors, FieldErrors more) {
  for (FieldError& error : more) errors.push_back(std::move(error));
  errors.left_off_ += more.left_off_;
}

std::string_view go_type_of(const Json& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_int()) return "int64";
  if (value.is_double()) return "float64";
  return value.is_array() ? "[]interface {}" : "map[string]interface {}";
}

std::string to_text(const FieldErrors& errors) {
  std::string list;
  for (const FieldError& error : errors) {
    if (!list.empty()) list += ", ";
    list += error.path.empty() ? error.body : error.path + ": " + error.body;
  }
  if (errors.left_off() > 0) list += ", and " + std::to_string(errors.left_off()) + " more";
  return errors.size() > 1 || errors.left_off() > 0 ? "[" + list + "]" : list;
}

FieldPath FieldPath::child(std::string_view name) const {
  FieldPath path(text_);
  if (!path.text_.empty()) path.text_ += '.';
  path.text_ += name;
  return path;
}

FieldPath FieldPath::index(std::size_t i) const {
  FieldPath path(text_);
  path.text_.append("[").append(std::to_string(i)).append("]");
  return path;
}

FieldPath FieldPath::key(std::string_view name) const {
  FieldPath path(text_);
  path.text_.append("[").append(name).append("]");
  return path;
}

}  // namespace berth::api
