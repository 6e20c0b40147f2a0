// Tokens of a command line of a POSIX shell, and the texts that its words expand to.
//
// Pure functions, any thread. Cost: linear in the text. Known are quotes, `$NAME`, `${NAME}`, `$((3 % 2))`,
// `$(expr 3 % 2)` and `$(echo text)`. Nothing runs, so a word with anything else has no known text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/meta.h"

namespace berth::controllers {

inline constexpr std::size_t kShellTextMax = 16 << 10, kShellTokensMax = 1024;

struct ShellToken {
  bool is_operator = false;  // ; \n && || | & > >> >&1 <
  std::string text;          // of a word: as it was written, quotes included
};

// Nothing: it is longer than the bounds, or a quote or parenthesis is not closed.
std::optional<std::vector<ShellToken>> shell_tokens(std::string_view line);

struct ShellText {
  std::string text;
  bool was_quoted = false;
};

// Nothing: it is not known, as for a variable that `variables` lacks.
std::optional<ShellText> expand_shell_word(std::string_view word, const api::StringMap& variables);

}  // namespace berth::controllers
