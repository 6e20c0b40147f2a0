// `berth bench NAME`: end-to-end measurements on the embedded control plane.
#pragma once

#include <string>

namespace berth::cli {

struct BenchCommand {
  std::string name;  // "dra-fill"
  std::string output = "table";
};

// Returns the exit code.
int run_bench(const BenchCommand& command);

}  // namespace berth::cli
