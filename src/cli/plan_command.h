// `berth plan`: what would happen to every pending pod of the objects in files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::cli {

struct PlanCommand {
  std::vector<std::string> files;
  std::string output = "table";   // table, json or yaml
  std::string verdicts = "none";  // none, summary or all
  std::string now;                // RFC 3339; empty: the newest timestamp of the input
  std::uint64_t seed = 0;
  std::string device_scoring = "Reference";  // a name of dra::kDeviceScorings
  std::string feature_gates;
};

// 0: everything is placed or gated. 1: something is not, the output is complete; or the input is bad, with
// file, document, line, object and field on stderr. 2: wrong usage.
int run_plan(const PlanCommand& command);

}  // namespace berth::cli
