// One worker of the storm: tools/storm.py starts several and adds up their output.
//
//   sim-storm run FIRST STEP COUNT    seeds FIRST, FIRST+STEP, …: one JSON line before and after each
//   sim-storm only SEED|FILE [trace]  one storm; what broke; with every write and fault
//   sim-storm plan SEED               the plan of a seed, as a file that `only` takes
//   sim-storm shrink SEED|FILE        the smallest plan that still fails in the same way
//
// The option --ignore=TEXT after them drops sentences with this prefix.
#include "base/log.h"
#include "sim/storm_program.h"

int main(int count, char** arguments) {
  berth::configure_log(berth::LogLevel::Off, berth::LogFormat::Text);
  const berth::sim::StormWords words = berth::sim::storm_words(count, arguments);
  if (!words.defect.empty())
    return berth::sim::exit_code_of(berth::Error(berth::ErrorCode::Invalid, "--defect",
                                                 "this program has no switches: use museum-storm"));
  return berth::sim::exit_code_of(berth::sim::run_storms(words.words, words.options));
}
