// Tokens of a CEL expression.
//
// Cost: one pass. Refuses expressions over kExpressionBytesMax, invalid UTF-8, unknown characters, broken
// literals. Source: the CEL language definition, syntax section.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cel {

inline constexpr std::size_t kExpressionBytesMax = 10 * 1024;

enum class TokenKind : std::uint8_t { End, Identifier, Int, Uint, Double, String, Bytes, Punctuation };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;     // as written
  std::string content;       // a string's or bytes' decoded content
  std::uint32_t offset = 0;  // in bytes
};

// An error at a byte offset. It never quotes the expression; see render().
struct Diagnostic {
  std::uint32_t offset = 0;
  std::string message;
};

// Writes the tokens, with an End token last, or returns the first error.
std::optional<Diagnostic> tokenize(std::string_view text, std::vector<Token>& tokens);

struct SourceLocation {
  int line = 1;    // from 1
  int column = 1;  // from 1, in code points
};
SourceLocation location_of(std::string_view text, std::uint32_t offset);

// "ERROR: <input>:1:3: message", the line and a marker, as cel-go prints it.
std::string render(std::string_view text, const Diagnostic& fault);

}  // namespace berth::cel
