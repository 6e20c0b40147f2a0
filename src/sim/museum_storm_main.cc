// sim-storm with the switches of the museum:
//
//   museum-storm defects              names of the museum, each with the invariants that see it
//
// and all verbs and options of sim-storm. --defect=NAME switches one on, and judges only the invariants that
// detect it.
#include <cstdio>
#include <optional>

#include "base/known_defects.h"
#include "base/log.h"
#include "sim/museum.h"
#include "sim/storm_program.h"

namespace berth::sim {
namespace {

int print_defects() {
  for (const KnownDefectRow& row : known_defects())
    std::printf("%s %s\n", std::string(row.name).c_str(), std::string(row.invariants).c_str());
  return 0;
}

int run_with_defect(StormWords words) {
  if (words.words == std::vector<std::string>{"defects"}) return print_defects();
  std::optional<WithDefect> defect;
  if (!words.defect.empty()) {
    const KnownDefectRow* row = known_defect(words.defect);
    if (!row) return exit_code_of(Error(ErrorCode::NotFound, "--defect", "there is no " + words.defect));
    defect.emplace(row->defect);
    for (std::string& sentence : not_finding(*row)) words.options.ignored.push_back(std::move(sentence));
  }
  return exit_code_of(run_storms(words.words, std::move(words.options)));
}

}  // namespace
}  // namespace berth::sim

int main(int count, char** arguments) {
  berth::configure_log(berth::LogLevel::Off, berth::LogFormat::Text);
  return berth::sim::run_with_defect(berth::sim::storm_words(count, arguments));
}
