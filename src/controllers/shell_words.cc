#include "controllers/shell_words.h"

#include "base/ascii.h"

namespace berth::controllers {
namespace {

constexpr int kShellDepthMax = 16;  // of parentheses and of substitutions in each other

bool is_name_char(char c) {
  return is_alphanumeric(c) || c == '_';
}

bool is_blank_char(char c) {
  return c == ' ' || c == '\t';
}

// The place after the quote or parenthesis that closes the one at `at`; npos: none does.
std::size_t after_closing(std::string_view text, std::size_t at, int depth = 0) {
  const char open = text[at];
  const char close = open == '(' ? ')' : open == '{' ? '}' : open;
  if (depth > kShellDepthMax) return std::string_view::npos;
  for (std::size_t i = at + 1; i < text.size();) {
    const char c = text[i];
    if (c == close) return i + 1;
    if (c == '\\' && open != '\'') {
      i += 2;
      continue;
    }
    const bool nests = open != '\'' && ((open == '(' && (c == '(' || c == '"' || c == '\'')) ||
                                        (c == '$' && text.substr(i + 1, 1) == "("));
    if (!nests) {
      ++i;
      continue;
    }
    i = after_closing(text, c == '$' ? i + 1 : i, depth + 1);
    if (i == std::string_view::npos) return i;
  }
  return std::string_view::npos;
}

// The place after the word that begins at `at`; npos: something is not closed.
std::size_t after_word(std::string_view line, std::size_t at) {
  while (at < line.size()) {
    const char c = line[at];
    if (std::string_view(" \t\n;&|<>").find(c) != std::string_view::npos) break;
    const bool substitutes = c == '$' && at + 1 < line.size() && (line[at + 1] == '(' || line[at + 1] == '{');
    if (c == '"' || c == '\'' || substitutes)
      at = after_closing(line, substitutes ? at + 1 : at);
    else
      at += c == '\\' ? 2 : 1;
    if (at == std::string_view::npos) return at;
  }
  return std::min(at, line.size());
}

std::size_t operator_size(std::string_view rest) {
  if (rest.starts_with(">&") && rest.size() > 2 && is_digit(rest[2])) return 3;
  for (const std::string_view two : {"&&", "||", ">>"})
    if (rest.starts_with(two)) return 2;
  return std::string_view(";\n|&><").find(rest.front()) == std::string_view::npos ? 0 : 1;
}

// Of `$((…))` and `expr`: integers, names, + - * / % and parentheses.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, const api::StringMap& variables) : text_(text), variables_(variables) {}

  std::optional<std::int64_t> value() {
    const auto all = sum(0);
    skip_blanks();
    return at_ == text_.size() ? all : std::nullopt;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (is_blank_char(text_[at_]) || text_[at_] == '\n')) ++at_;
  }

  // The operator of this set that comes next, which is taken; else 0.
  char take(std::string_view operators) {
    skip_blanks();
    if (at_ == text_.size() || operators.find(text_[at_]) == std::string_view::npos) return 0;
    return text_[at_++];
  }

  static std::optional<std::int64_t> apply(char op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    const bool divides = op == '/' || op == '%';
    if (divides && (b == 0 || b == -1)) return b == 0 ? std::nullopt : apply('*', op == '/' ? a : 0, -1);
    const bool overflows = op == '+'   ? __builtin_add_overflow(a, b, &result)
                           : op == '-' ? __builtin_sub_overflow(a, b, &result)
                           : op == '*' ? __builtin_mul_overflow(a, b, &result)
                                       : false;
    if (overflows) return std::nullopt;
    return divides ? (op == '/' ? a / b : a % b) : result;
  }

  std::optional<std::int64_t> sum(int depth) {
    auto left = product(depth);
    while (const char op = left ? take("+-") : '\0') {
      const auto right = product(depth);
      left = right ? apply(op, *left, *right) : std::nullopt;
    }
    return left;
  }

  std::optional<std::int64_t> product(int depth) {
    auto left = operand(depth);
    while (const char op = left ? take("*/%") : '\0') {
      const auto right = operand(depth);
      left = right ? apply(op, *left, *right) : std::nullopt;
    }
    return left;
  }

  std::optional<std::int64_t> operand(int depth) {
    if (depth > kShellDepthMax) return std::nullopt;
    if (take("(")) {
      const auto inner = sum(depth + 1);
      return take(")") ? inner : std::nullopt;
    }
    if (take("-")) {
      const auto positive = operand(depth + 1);
      return positive ? apply('-', 0, *positive) : std::nullopt;
    }
    take("$");
    const bool braces = take("{") != 0;
    skip_blanks();
    const std::size_t from = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    if (word.empty() || (braces && !take("}"))) return std::nullopt;
    if (is_digit(word.front())) return api::to_int(word);
    const auto found = variables_.find(word);
    return found == variables_.end() ? std::nullopt : api::to_int(found->second);
  }

  const std::string_view text_;
  const api::StringMap& variables_;
  std::size_t at_ = 0;
};

class Expansion {
 public:
  Expansion(std::string_view word, const api::StringMap& variables, int depth)
      : word_(word), variables_(variables), depth_(depth) {}

  std::optional<ShellText> whole() {
    bool in_double = false;
    while (at_ < word_.size()) {
      const char c = word_[at_];
      if (c == '\'' && !in_double) {
        const std::size_t end = word_.find('\'', at_ + 1);
        if (end == std::string_view::npos) return std::nullopt;
        made_.was_quoted = true;
        made_.text += word_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
      } else if (c == '"') {
        in_double = !in_double;
        made_.was_quoted = true;
        ++at_;
      } else if (c == '\\' && at_ + 1 < word_.size()) {
        made_.text += word_[at_ + 1];
        at_ += 2;
      } else if (c == '`' || (c == '$' && !dollar())) {
        return std::nullopt;
      } else if (c != '$') {
        made_.text += c;
        ++at_;
      }
    }
    return made_;
  }

 private:
  // Of the `$` that comes next; false: not known.
  bool dollar() {
    const std::string_view rest = word_.substr(at_ + 1);
    if (rest.starts_with("(")) return substitute(rest);
    const bool braces = rest.starts_with("{");
    std::size_t end = braces ? 1 : 0;
    while (end < rest.size() && is_name_char(rest[end])) ++end;
    const std::string_view name = rest.substr(braces ? 1 : 0, end - (braces ? 1 : 0));
    if (name.empty() || (braces && rest.substr(end, 1) != "}")) return false;
    const auto found = variables_.find(name);
    if (found == variables_.end()) return false;
    made_.text += found->second;
    at_ += 1 + end + (braces ? 1 : 0);
    return true;
  }

  bool substitute(std::string_view rest) {
    const std::size_t end = after_closing(rest, 0);
    if (end == std::string_view::npos || depth_ >= kShellDepthMax) return false;
    const std::string_view inner = rest.substr(1, end - 2);
    const bool is_arithmetic = inner.starts_with("(") && inner.ends_with(")");
    const auto text = is_arithmetic ? arithmetic(inner.substr(1, inner.size() - 2)) : output_of(inner);
    if (!text) return false;
    made_.text += *text;
    at_ += 1 + end;
    return true;
  }

  std::optional<std::string> arithmetic(std::string_view text) const {
    const auto value = Arithmetic(text, variables_).value();
    if (!value) return std::nullopt;
    return std::to_string(*value);
  }

  std::optional<std::string> output_of(std::string_view command) const {
    const auto tokens = shell_tokens(command);
    if (!tokens || tokens->empty()) return std::nullopt;
    std::string rest;
    for (std::size_t i = 1; i < tokens->size(); ++i) {
      const auto word = Expansion((*tokens)[i].text, variables_, depth_ + 1).whole();
      if ((*tokens)[i].is_operator || !word) return std::nullopt;
      rest += (i > 1 ? " " : "") + word->text;
    }
    if (tokens->front().text == "echo") return rest;
    if (tokens->front().text == "expr") return arithmetic(rest);
    return std::nullopt;
  }

  const std::string_view word_;
  const api::StringMap& variables_;
  const int depth_;
  std::size_t at_ = 0;
  ShellText made_;
};

}  // namespace

std::optional<std::vector<ShellToken>> shell_tokens(std::string_view line) {
  if (line.size() > kShellTextMax) return std::nullopt;
  std::vector<ShellToken> tokens;
  for (std::size_t at = 0; at < line.size();) {
    if (tokens.size() >= kShellTokensMax) return std::nullopt;
    if (is_blank_char(line[at])) {
      ++at;
    } else if (line.substr(at, 2) == "\\\n") {
      at += 2;
    } else if (line[at] == '#') {
      at = std::min(line.find('\n', at), line.size());
    } else if (const std::size_t size = operator_size(line.substr(at)); size > 0) {
      tokens.push_back({true, std::string(line.substr(at, size))});
      at += size;
    } else {
      const std::size_t end = after_word(line, at);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view word = line.substr(at, end - at);
      const bool is_descriptor = line.substr(end, 1) == ">" && word.size() == 1 && is_digit(word.front());
      if (!is_descriptor) tokens.push_back({false, std::string(word)});
      at = end;
    }
  }
  return tokens;
}

std::optional<ShellText> expand_shell_word(std::string_view word, const api::StringMap& variables) {
  return Expansion(word, variables, 0).whole();
}

}  // namespace berth::controllers
