// RE2 patterns behind Berth's own type, so that no header includes the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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

  // Instructions of the compiled pattern: what compiling it costs, and in the worst case each byte of a
  // search.
  virtual std::size_t size() const = 0;
  virtual bool found_in(std::string_view text) const = 0;
  // The first match at or after byte `from`: offset and length.
  struct Match {
    std::size_t offset;
    std::size_t length;
  };
  virtual std::optional<Match> find(std::string_view text, std::size_t from) const = 0;
};

using PatternCache = std::map<std::string, std::shared_ptr<const Regex>, std::less<>>;

// Instructions of all constant patterns of one expression.
inline constexpr std::size_t kConstantPatternsMax = 50'000;
// What a pattern counts that is refused, as one of too many instructions is.
inline constexpr std::size_t kRefusedPatternSize = 50'000;

// Null is one that was refused.
std::size_t pattern_size(const Regex* regex);
std::size_t pattern_size(const PatternCache& patterns);

// From the cache, or compiled and put there; null and a reason when it is refused.
const std::shared_ptr<const Regex>& cached_pattern(PatternCache& patterns, std::string_view text,
                                                   std::string& reason);
// The same while the cache has at most kConstantPatternsMax instructions; then null and a reason.
const Regex* compiled_pattern(PatternCache& patterns, std::string_view text, std::string& reason);

}  // namespace berth::cel
