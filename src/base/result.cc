#include "base/result.h"

namespace berth {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Invalid:
      return "Invalid";
    case ErrorCode::NotFound:
      return "NotFound";
    case ErrorCode::Exists:
      return "Exists";
    case ErrorCode::Conflict:
      return "Conflict";
    case ErrorCode::Gone:
      return "Gone";
    case ErrorCode::Forbidden:
      return "Forbidden";
    case ErrorCode::TooLarge:
      return "TooLarge";
    case ErrorCode::Unsupported:
      return "Unsupported";
    case ErrorCode::Unavailable:
      return "Unavailable";
    case ErrorCode::Internal:
      return "Internal";
  }
  return "Internal";
}

Error Error::under(std::string_view outer) const {
  Error error = *this;
  if (outer.empty()) return error;
  const bool joins_directly = error.path_.empty() || error.path_.front() == '[';
  error.path_ = std::string(outer) + (joins_directly ? "" : ".") + error.path_;
  return error;
}

Error Error::because_of(Error cause) const {
  Error error = *this;
  error.cause_ = std::make_shared<const Error>(std::move(cause));
  return error;
}

std::string Error::text() const {
  std::string text = path_.empty() ? message_ : path_ + ": " + message_;
  if (cause_) text += ": " + cause_->text();
  return text;
}

}  // namespace berth
