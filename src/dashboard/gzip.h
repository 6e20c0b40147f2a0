// Bytes in gzip's format, for browsers and for what is kept. Source: RFC 1952.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::dashboard {

// Cost: about 10 ms a megabyte.
std::string gzipped(std::string_view bytes);
// At most the first `bytes_max` of what was compressed, of all members of the file. Refuses what is no gzip,
// or was damaged or cut before these.
Result<std::string> gunzipped(std::string_view bytes, std::size_t bytes_max);

// What is sent to many: compressed at most once, when somebody first asks for it. Thread-safe.
class Content {
 public:
  explicit Content(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& bytes() const { return bytes_; }
  const std::string& gzip() const;

 private:
  const std::string bytes_;
  mutable std::once_flag once_;
  mutable std::string gzip_;
};

}  // namespace berth::dashboard
