// How a line of a shell ends, as far as its text says it: a simulated node runs nothing.
//
// Pure functions, any thread. Cost: linear in the line, at most kShellTextMax bytes. Known are lists with ;
// && || and pipes, `if`, `set -e`, variables (shell_words.h), redirections, and sleep, exit, true, false,
// echo, touch, test, `[`, `[[` and other quick commands. docs/workloads.md#containers-that-end is the page
// for people.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/meta.h"
#include "base/time.h"

namespace berth::controllers {

inline constexpr std::int64_t kExitCodeMax = 255;

// What the commands of a container find, and leave behind.
struct ShellWorld {
  api::StringMap variables;
  std::set<std::string> files;               // that are known to exist
  std::vector<std::string> private_folders;  // in them is nothing else: "/data"

  bool is_private(std::string_view path) const;
  // Nothing: not known, as for a file of the image.
  std::optional<bool> has_file(const std::string& path) const;
};

struct ShellEnd {
  Duration after;
  std::int64_t exit_code = 0;
};

// Nothing: it comes to a command that is not known.
std::optional<ShellEnd> end_of_line(std::string_view line, ShellWorld& world);
// Of one command that no shell reads; `words` is not empty.
std::optional<ShellEnd> end_of_command(const std::vector<std::string>& words, ShellWorld& world);

}  // namespace berth::controllers
