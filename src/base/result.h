// A value or an Error: what every fallible function returns. Answers such as "infeasible" are not errors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace berth {

// The kinds of failure that callers distinguish. Kubernetes status reasons map onto these.
enum class ErrorCode {
  Invalid,      // the input breaks a rule; the path names the field
  NotFound,     // the object does not exist
  Exists,       // the object exists already
  Conflict,     // the state changed since it was read
  Gone,         // the requested history is no longer kept
  Forbidden,    // not allowed for this caller or this state
  TooLarge,     // a named bound was exceeded
  Unsupported,  // valid, but not implemented here
  Unavailable,  // try again later
  Internal,     // a fault of this program or the machine
};

std::string_view name_of(ErrorCode code);

// A failure with a sentence for an operator, the field or file it is about, and what caused it.
class Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  Error(ErrorCode code, std::string path, std::string message)
      : code_(code), path_(std::move(path)), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  // A field path ("spec.devices.requests[0].name"), a file, or empty.
  const std::string& path() const { return path_; }
  const std::string& message() const { return message_; }
  const Error* cause() const { return cause_.get(); }

  // The same error, seen from one level further out: `outer` is put before the path with a dot.
  Error under(std::string_view outer) const;
  // A new error that names this one as its cause.
  Error because_of(Error cause) const;
  // "path: message: cause", for people.
  std::string text() const;

 private:
  ErrorCode code_;
  std::string path_;
  std::string message_;
  std::shared_ptr<const Error> cause_;
};

// `E` is the type of a failure: Error, or a room's own type. It differs from `T`.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    BERTH_ASSERT(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  const T& value() const& {
    BERTH_ASSERT(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  T&& value() && {
    BERTH_ASSERT(ok(), "value() of a failed Result");
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const E& error() const {
    BERTH_ASSERT(!ok(), "error() of a successful Result");
    return std::get<1>(state_);
  }
  T value_or(T other) && { return ok() ? std::get<0>(std::move(state_)) : std::move(other); }

 private:
  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  Result() = default;
  Result(E error) : error_(std::make_shared<const E>(std::move(error))) {}

  bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  void value() const { BERTH_ASSERT(ok(), "value() of a failed Result"); }
  const E& error() const {
    BERTH_ASSERT(!ok(), "error() of a successful Result");
    return *error_;
  }

 private:
  std::shared_ptr<const E> error_;
};

using Status = Result<void>;

}  // namespace berth

// The value of `expression`, or a return of its error from the enclosing function. Not inside coroutines.
#define TRY(expression)                                       \
  ({                                                          \
    auto&& try_result_ = (expression);                        \
    if (!try_result_.ok()) return try_result_.error();        \
    std::forward<decltype(try_result_)>(try_result_).value(); \
  })
