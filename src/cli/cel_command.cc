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
  cel->footer(
      "Input, a device selector as in a DeviceClass or a ResourceClaim:\n"
      R"(  {"id":1,"expr":"device.capacity['dom'].mem.compareTo(quantity('1Gi')) >= 0",)"
      R"("device":{"driver":"dom",)"
      R"("attributes":{"dom/name":{"string":"x"}},"capacity":{"dom/mem":{"value":"2Gi"}}}})"
      "\nor an expression over typed variables:\n"
      R"(  {"id":2,"expr":"a + 1","vars":{"a":{"int":"41"}}})"
      "\nOutput: the value with its type and cost, or the error; exit code 1 when a line had an error.\n"
      "Types: null, bool, int, uint, double, string, bytes, list, map, duration, timestamp.");
  add_tool(cel, commands, run_cel);
}

}  // namespace berth::cli
