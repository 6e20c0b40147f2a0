#include "cli/cel_command.h"

#include <cstdio>

#include "cli/cel_lines.h"

namespace berth::cli {

int run_cel() {
  bool clean = true;
  for (std::string line; read_line(stdin, kCelLineBytesMax, line);) {
    if (line.empty()) continue;
    const Json answer = line.size() > kCelLineBytesMax ? answer_too_long() : answer_cel(line);
    clean = clean && !answer.find("error");
    std::printf("%s\n", to_string(answer).c_str());
    std::fflush(stdout);
  }
  return clean ? 0 : 1;
}

}  // namespace berth::cli
