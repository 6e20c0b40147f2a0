// RE2 patterns behind Berth's own type, so that no header includes the library.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace berth::cel {

// The memory limit of one compiled pattern.
inline constexpr std::int64_t kRegexBytesMax = 4 * 1024 * 1024;

class Regex {
 public:
  // Null and a reason when the pattern is refused.
  static std::shared_ptr<const Regex> compile(std::string_view pattern, std::string& reason);
  virtual ~Regex() = default;

  virtual bool found_in(std::string_view text) const = 0;
  // The first match at or after byte `from`: offset and length.
  struct Match {
    std::size_t offset;
    std::size_t length;
  };
  virtual std::optional<Match> find(std::string_view text, std::size_t from) const = 0;
};

}  // namespace berth::cel
