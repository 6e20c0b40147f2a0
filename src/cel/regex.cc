#include "cel/regex.h"

#include <re2/re2.h>

#include <algorithm>

namespace berth::cel {
namespace {

class Re2Regex : public Regex {
 public:
  explicit Re2Regex(std::string_view pattern)
      : pattern_(re2::StringPiece(pattern.data(), pattern.size()), options()) {}

  bool ok() const { return pattern_.ok(); }
  // In the words of Go's regexp, which users of Kubernetes see.
  std::string reason() const {
    std::string text = pattern_.error();
    switch (pattern_.error_code()) {
      case RE2::ErrorMissingBracket:
        text = "missing closing ]";
        break;
      case RE2::ErrorMissingParen:
        text = "missing closing )";
        break;
      case RE2::ErrorRepeatArgument:
        text = "missing argument to repetition operator";
        break;
      case RE2::ErrorRepeatSize:
        text = "invalid repeat count";
        break;
      case RE2::ErrorBadEscape:
        text = "invalid escape sequence";
        break;
      case RE2::ErrorBadCharRange:
        text = "invalid character class range";
        break;
      default:
        break;
    }
    return text + ": `" + pattern_.error_arg() + "`";
  }

  std::size_t size() const override { return static_cast<std::size_t>(std::max(pattern_.ProgramSize(), 0)); }
  bool found_in(std::string_view text) const override {
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern_);
  }
  std::optional<Match> find(std::string_view text, std::size_t from) const override {
    re2::StringPiece match;
    const re2::StringPiece whole(text.data(), text.size());
    if (!pattern_.Match(whole, from, text.size(), RE2::UNANCHORED, &match, 1)) return std::nullopt;
    return Match{static_cast<std::size_t>(match.data() - text.data()), match.size()};
  }

 private:
  static RE2::Options options() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kRegexBytesMax);
    return options;
  }

  RE2 pattern_;
};

}  // namespace

std::shared_ptr<const Regex> Regex::compile(std::string_view pattern, std::string& reason) {
  auto regex = std::make_shared<Re2Regex>(pattern);
  if (regex->ok()) return regex;
  reason = "error parsing regexp: " + regex->reason();
  return nullptr;
}

std::size_t pattern_size(const Regex* regex) {
  return regex ? regex->size() : kRefusedPatternSize;
}
std::size_t pattern_size(const PatternCache& patterns) {
  std::size_t size = 0;
  for (const auto& [text, regex] : patterns) size += pattern_size(regex.get());
  return size;
}

const std::shared_ptr<const Regex>& cached_pattern(PatternCache& patterns, std::string_view text,
                                                   std::string& reason) {
  std::shared_ptr<const Regex>& regex = patterns[std::string(text)];
  if (!regex) regex = Regex::compile(text, reason);
  return regex;
}

const Regex* compiled_pattern(PatternCache& patterns, std::string_view text, std::string& reason) {
  if (const auto found = patterns.find(text); found != patterns.end() && found->second)
    return found->second.get();
  if (pattern_size(patterns) > kConstantPatternsMax) {
    reason = "the patterns of an expression may have at most " + std::to_string(kConstantPatternsMax) +
             " instructions";
    return nullptr;
  }
  return cached_pattern(patterns, text, reason).get();
}

}  // namespace berth::cel
