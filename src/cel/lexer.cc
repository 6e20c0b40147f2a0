#include "cel/lexer.h"

#include <algorithm>
#include <array>

#include "base/hex.h"
#include "base/utf8.h"

namespace berth::cel {
namespace {

constexpr std::array<std::string_view, 24> kPunctuation = {"&&", "||", "==", "!=", "<=", ">=", "+", "-",
                                                           "*",  "/",  "%",  "!",  "<",  ">",  "?", ":",
                                                           ".",  ",",  "(",  ")",  "[",  "]",  "{", "}"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
class Lexer {
 public:
  Lexer(std::string_view text, std::vector<Token>& tokens) : text_(text), tokens_(tokens) {}

  std::optional<Diagnostic> run() {
    while (skip_blank(), at_ < text_.size())
      if (std::optional<Diagnostic> fault = next()) return fault;
    tokens_.push_back(
        {TokenKind::End, text_.substr(text_.size()), {}, static_cast<std::uint32_t>(text_.size())});
    return std::nullopt;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_blank() {
    for (; at_ < text_.size(); ++at_) {
      if (peek() == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        if (at_ == text_.size()) return;
      } else if (std::string_view(" \t\r\n\f").find(peek()) == std::string_view::npos) {
        return;
      }
    }
  }

  void emit(TokenKind kind, std::size_t start, std::string content = {}) {
    tokens_.push_back(
        {kind, text_.substr(start, at_ - start), std::move(content), static_cast<std::uint32_t>(start)});
  }

  Diagnostic unrecognized(std::size_t start) const {
    std::size_t end = std::max(at_, start + 1);
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    return {static_cast<std::uint32_t>(start), "Syntax error: token recognition error at: '" +
                                                   std::string(text_.substr(start, end - start)) + "'"};
  }

  std::optional<Diagnostic> next() {
    const std::size_t start = at_;
    std::size_t quote = at_;
    bool raw = false, bytes = false;
    for (; quote < text_.size() && quote < at_ + 2; ++quote) {
      const char c = text_[quote];
      if ((c == 'r' || c == 'R') && !raw)
        raw = true;
      else if ((c == 'b' || c == 'B') && !bytes)
        bytes = true;
      else
        break;
    }
    if (quote < text_.size() && (text_[quote] == '\'' || text_[quote] == '"')) {
      at_ = quote;
      return lex_string(start, raw, bytes);
    }
    if (is_letter(peek())) {
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      emit(TokenKind::Identifier, start);
      return std::nullopt;
    }
    if (is_digit(peek()) || (peek() == '.' && is_digit(peek(1)))) {
      lex_number(start);
      return std::nullopt;
    }
    for (const std::string_view punctuation : kPunctuation) {
      if (text_.substr(at_).starts_with(punctuation)) {
        at_ += punctuation.size();
        emit(TokenKind::Punctuation, start);
        return std::nullopt;
      }
    }
    return unrecognized(start);
  }

  void lex_number(std::size_t start) {
    TokenKind kind = TokenKind::Int;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && hex_value(peek(2)) >= 0) {
      for (at_ += 2; hex_value(peek()) >= 0;) ++at_;
    } else {
      while (is_digit(peek())) ++at_;
      if (peek() == '.' && is_digit(peek(1))) {
        kind = TokenKind::Double;
        for (++at_; is_digit(peek());) ++at_;
      }
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
        kind = TokenKind::Double;
        for (at_ += 1 + sign; is_digit(peek());) ++at_;
      }
    }
    if (kind == TokenKind::Int && (peek() == 'u' || peek() == 'U')) {
      ++at_;
      kind = TokenKind::Uint;
    }
    emit(kind, start);
  }

  std::optional<Diagnostic> lex_string(std::size_t start, bool raw, bool bytes) {
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    std::string content;
    for (;;) {
      if (at_ >= text_.size() || (!triple && (peek() == '\n' || peek() == '\r'))) return unrecognized(start);
      if (peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote))) break;
      if (peek() != '\\' || raw) {
        if (peek() == '\\') content += text_[at_++];
        if (at_ < text_.size()) content += text_[at_++];
        continue;
      }
      if (!lex_escape(content, bytes)) return unrecognized(start);
    }
    at_ += triple ? 3 : 1;
    emit(bytes ? TokenKind::Bytes : TokenKind::String, start, std::move(content));
    return std::nullopt;
  }

  // After a backslash. Octal and hexadecimal escapes denote bytes in bytes literals, code points in strings.
  bool lex_escape(std::string& content, bool bytes) {
    static constexpr std::string_view kFrom = "abfnrtv\\'\"`?";
    static constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"`?";
    const char c = peek(1);
    at_ += 2;
    if (const std::size_t simple = kFrom.find(c); c != '\0' && simple != std::string_view::npos) {
      content += kTo[simple];
      return true;
    }
    int digits = 0, base = 16;
    if (c == 'x' || c == 'X')
      digits = 2;
    else if (c == 'u' && !bytes)
      digits = 4;
    else if (c == 'U' && !bytes)
      digits = 8;
    else if (c >= '0' && c <= '3')
      digits = 3, base = 8, --at_;
    else
      return false;
    std::uint32_t code = 0;
    for (; digits > 0; --digits, ++at_) {
      const int digit = hex_value(peek());
      if (digit < 0 || digit >= base) return false;
      code = code * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
    }
    if (bytes) {
      content += static_cast<char>(code);
      return true;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    append_code_point(content, code);
    return true;
  }

  std::string_view text_;
  std::vector<Token>& tokens_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Diagnostic> tokenize(std::string_view text, std::vector<Token>& tokens) {
  if (text.size() > kExpressionBytesMax)
    return Diagnostic{0, "expression is " + std::to_string(text.size()) + " bytes long, the limit is " +
                             std::to_string(kExpressionBytesMax)};
  if (!is_utf8(text)) return Diagnostic{0, "expression is not valid UTF-8"};
  return Lexer(text, tokens).run();
}

SourceLocation location_of(std::string_view text, std::uint32_t offset) {
  if (text.empty()) return {1, 0};
  SourceLocation position;
  for (std::uint32_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n')
      ++position.line, position.column = 1;
    else
      position.column += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
  }
  return position;
}

std::string render(std::string_view text, const Diagnostic& fault) {
  const SourceLocation position = location_of(text, fault.offset);
  std::string out = "ERROR: <input>:" + std::to_string(position.line) + ":" +
                    std::to_string(position.column) + ": " + fault.message;
  if (text.empty()) return out;
  std::size_t begin = 0;
  for (int line = 1; line < position.line; ++line) begin = text.find('\n', begin) + 1;
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  return out + "\n | " + std::string(line) + "\n | " +
         std::string(static_cast<std::size_t>(std::max(position.column - 1, 0)), '.') + "^";
}

}  // namespace berth::cel
