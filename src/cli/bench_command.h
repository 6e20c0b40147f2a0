// `berth bench NAME`: end-to-end measurements on the embedded control plane.
#pragma once

#include <string>

namespace berth::cli {

struct BenchCommand {
  std::string name;  // "dra-fill"
  std::string output = "table";
  std::size_t nodes = 500;
  std::size_t devices_per_node = 10;
  std::size_t pods_before = 2500;
  std::size_t pods_measured = 2500;
  std::size_t offered_per_s = 500;  // of the latency run
};

// Returns the exit code.
int run_bench(const BenchCommand& command);

}  // namespace berth::cli
