// What the programs sim-storm and museum-storm share.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/storm.h"

namespace berth::sim {

struct StormWords {
  std::vector<std::string> words;  // a verb and what it takes
  StormOptions options;            // of --ignore=TEXT
  std::string defect;              // of --defect=NAME
};
StormWords storm_words(int count, char** arguments);

// run FIRST STEP COUNT, only SEED|FILE [trace], plan SEED, shrink SEED|FILE: prints what it finds.
Status run_storms(const std::vector<std::string>& words, StormOptions options);

// Prints the error.
int exit_code_of(const Status& ran);

}  // namespace berth::sim
