// The errors of validation: one entry per field, in the words that Kubernetes clients match.
// Source: k8s.io/apimachinery util/validation/field (the text forms that kubectl users and tests match).
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace berth::api {

enum class FieldErrorType {
  Required,
  Invalid,
  NotSupported,
  Duplicate,
  Forbidden,
  TooLong,
  TooMany,
  TypeInvalid,
  NotFound,
  Internal,
};

struct FieldError {
  FieldErrorType type = FieldErrorType::Invalid;
  std::string path;  // "spec.devices.requests[0].name"
  std::string body;  // "Invalid value: \"x\": must be …": everything after the path
};

// Of the paths and bodies of one object's errors.
inline constexpr std::size_t kFieldErrorBytesMax = 1u << 20;

// In the order found. Errors that pass the bound are counted alone; the first one is kept whatever its
// length.
class FieldErrors {
 public:
  FieldErrors() = default;
  FieldErrors(std::initializer_list<FieldError> errors);

  void push_back(FieldError error);
  // Further errors are left off: a loop whose errors each quote a long value ends.
  bool full() const { return left_off_ > 0; }
  std::size_t left_off() const { return left_off_; }
  // Forgets all but the first `count`, and how many were left off behind them.
  void cut(std::size_t count);

  bool empty() const { return errors_.empty(); }
  std::size_t size() const { return errors_.size(); }
  const FieldError& operator[](std::size_t i) const { return errors_[i]; }
  const FieldError& front() const { return errors_.front(); }
  FieldError& back() { return errors_.back(); }
  std::vector<FieldError>::iterator begin() { return errors_.begin(); }
  std::vector<FieldError>::iterator end() { return errors_.end(); }
  std::vector<FieldError>::const_iterator begin() const { return errors_.begin(); }
  std::vector<FieldError>::const_iterator end() const { return errors_.end(); }

 private:
  friend void append(FieldErrors& errors, FieldErrors more);

  std::vector<FieldError> errors_;
  std::size_t bytes_ = 0;
  std::size_t left_off_ = 0;
};

// "FieldValueRequired", …: the reason of a Status cause.
std::string_view cause_reason(FieldErrorType type);

FieldError required(std::string path, std::string_view detail = "");
// `value` is printed as Go prints it: strings quoted, numbers plain, structures as JSON.
FieldError invalid(std::string path, const Json& value, std::string_view detail);
// Supported values are printed quoted, in the given order.
FieldError not_supported(std::string path, const Json& value, std::span<const std::string_view> supported);
FieldError not_supported(std::string path, const Json& value,
                         std::initializer_list<std::string_view> supported);
FieldError duplicate(std::string path, const Json& value);
FieldError not_found(std::string path, const Json& value, std::string_view detail = "");
FieldError forbidden(std::string path, std::string_view detail);
FieldError too_long(std::string path, std::size_t bytes_max);
FieldError too_many(std::string path, std::size_t count, std::size_t count_max);

void append(FieldErrors& errors, FieldErrors more);
// Go's name of the type that a JSON value decodes into: "int64", "map[string]interface {}".
std::string_view go_type_of(const Json& value);
// "spec.a: Required value", or "[spec.a: …, spec.b: …]" of several; then how many were left off.
std::string to_text(const FieldErrors& errors);

// Builds "a.b[3].c" and "a.b[key]" without repeating string arithmetic.
class FieldPath {
 public:
  explicit FieldPath(std::string_view root) : text_(root) {}
  FieldPath child(std::string_view name) const;
  FieldPath index(std::size_t i) const;
  FieldPath key(std::string_view name) const;
  const std::string& text() const { return text_; }
  operator std::string() const { return text_; }

 private:
  std::string text_;
};

}  // namespace berth::api
