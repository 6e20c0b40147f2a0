#include "cli/cel_command.h"

#include <CLI/CLI.hpp>

#include <cstdio>

#include "cli/cel_lines.h"

namespace berth::cli {
namespace {

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

}  // namespace

void add_cel(CLI::App& app, Commands& commands) {
  CLI::App* cel = app.add_subcommand("cel", "evaluate CEL: JSON lines on standard input, answers on output");
  add_tool(cel, commands, run_cel);
}

}  // namespace berth::cli
