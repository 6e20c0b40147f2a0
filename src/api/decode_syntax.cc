#include "api/decode_syntax.h"

#include <fmt/format.h>

#include <vector>

#include "base/json.h"

namespace berth::api {
namespace {

// Scans as far as the text is JSON. Each function is false once `error` is set.
class Scanner {
 public:
  explicit Scanner(std::string_view text, std::string_view wanted = {}) : text_(text), wanted_(wanted) {}

  std::string run() {
    skip_space();
    if (value("looking for beginning of value")) {
      skip_space();
      if (at_ < text_.size()) refuse("after top-level value");
    }
    return error_;
  }

  std::string_view number_found() const { return found_; }
  // The end positions of integers that are too long for 64 bits.
  const std::vector<std::size_t>& long_integer_ends() const { return long_integer_ends_; }

 private:
  bool refuse(std::string_view context) {
    if (!error_.empty()) return false;
    if (at_ >= text_.size())
      error_ = "unexpected end of JSON input";
    else
      error_ = fmt::format("invalid character {} {}", character(), context);
    return false;
  }

  std::string character() const {
    const char c = text_[at_];
    if (c == '\'') return R"('\'')";
    if (c == '\n') return R"('\n')";
    if (c == '\t') return R"('\t')";
    if (c == '\r') return R"('\r')";
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code < 0x7f) return fmt::format("'{}'", c);
    return code < 0x80 ? fmt::format("'\\x{:02x}'", code) : fmt::format("'\\u{:04x}'", code);
  }

  bool value(std::string_view context) {
    if (at_ >= text_.size()) return refuse(context);
    switch (text_[at_]) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return string();
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        return number(context);
    }
  }

  bool object() {
    if (++depth_ > kJsonDepthMax) return error_ = "exceeded max depth", false;
    ++at_, skip_space();
    if (next_is('}')) return --depth_, true;
    while (true) {
      if (at_ >= text_.size() || text_[at_] != '"')
        return refuse("looking for beginning of object key string");
      const std::size_t key_at = at_ + 1;
      if (!string()) return false;
      const std::string_view key = text_.substr(key_at, at_ - 1 - key_at);
      skip_space();
      if (!next_is(':')) return refuse("after object key");
      skip_space();
      if (!inner_value((path_.empty() ? "" : ".") + std::string(key))) return false;
      skip_space();
      if (next_is('}')) return --depth_, true;
      if (!next_is(',')) return refuse("after object key:value pair");
      skip_space();
    }
  }

  bool array() {
    if (++depth_ > kJsonDepthMax) return error_ = "exceeded max depth", false;
    ++at_, skip_space();
    if (next_is(']')) return --depth_, true;
    for (std::size_t index = 0;; ++index) {
      if (!inner_value(fmt::format("[{}]", index))) return false;
      skip_space();
      if (next_is(']')) return --depth_, true;
      if (!next_is(',')) return refuse("after array element");
      skip_space();
    }
  }

  // A value one level deeper than its parent.
  bool inner_value(const std::string& step) {
    const std::size_t outer = path_.size();
    path_ += step;
    const bool good = value("looking for beginning of value");
    path_.resize(outer);
    return good;
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (static_cast<unsigned char>(c) < 0x20) return refuse("in string literal");
      if (c != '\\') continue;
      if (++at_ >= text_.size()) break;
      if (text_[at_] == 'u') {
        for (int i = 0; i < 4; ++i)
          if (++at_ >= text_.size() || !is_hex(text_[at_]))
            return refuse("in \\u hexadecimal character escape");
      } else if (std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos) {
        return refuse("in string escape code");
      }
    }
    return refuse("");
  }

  bool literal(std::string_view word) {
    for (std::size_t i = 0; i < word.size(); ++i, ++at_)
      if (at_ >= text_.size() || text_[at_] != word[i])
        return refuse(fmt::format("in literal {} (expecting '{}')", word, word[i]));
    return true;
  }

  bool number(std::string_view context) {
    const std::size_t from = at_;
    if (!number_parts(context)) return false;
    const std::string_view written = text_.substr(from, at_ - from);
    if (path_ == wanted_) found_ = written;
    constexpr std::size_t kDigitsThatFit = 18;
    if (written.size() > kDigitsThatFit && written.find_first_of(".eE") == std::string_view::npos)
      long_integer_ends_.push_back(at_);
    return true;
  }

  bool number_parts(std::string_view context) {
    const bool negative = next_is('-');
    if (!next_is('0')) {
      if (!digits()) return refuse(negative ? "in numeric literal" : context);
    }
    if (next_is('.') && !digits()) return refuse("after decimal point in numeric literal");
    if (next_is('e') || next_is('E')) {
      if (!next_is('+')) next_is('-');
      if (!digits()) return refuse("in exponent of numeric literal");
    }
    return true;
  }

  bool digits() {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > from;
  }

  bool next_is(char c) { return at_ < text_.size() && text_[at_] == c ? (++at_, true) : false; }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }

  std::string_view text_;
  std::string_view wanted_;
  std::string_view found_;
  std::string path_;
  std::vector<std::size_t> long_integer_ends_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::string error_;
};

}  // namespace

std::string json_syntax_error(std::string_view text) {
  return Scanner(text).run();
}

std::string with_long_integers_as_doubles(std::string_view text) {
  Scanner scanner(text);
  std::string out;
  if (!scanner.run().empty()) return out;
  std::size_t from = 0;
  for (const std::size_t end : scanner.long_integer_ends()) {
    out.append(text.substr(from, end - from)).append(".0");
    from = end;
  }
  return out.append(text.substr(from));
}

std::string_view raw_number_at(std::string_view text, std::string_view path) {
  Scanner scanner(text, path);
  return scanner.run().empty() ? scanner.number_found() : std::string_view();
}

}  // namespace berth::api
