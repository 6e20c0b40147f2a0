// `berth up`: a whole control plane in one process.
#pragma once

#include <string>
#include <vector>

#include "cli/server_part.h"

namespace berth::cli {

struct UpCommand {
  ServerOptions server;
  std::string feature_gates;
  bool in_memory = false;
  std::vector<std::string> files;
  std::size_t nodes = 0;
  std::string nodes_directory;    // empty: nodes/ in the data directory
  bool watch_placements = false;  // print each placement as it happens
};

inline constexpr std::size_t kSimulatedNodesMax = 100'000;

// Runs until SIGINT or SIGTERM. Returns the exit code.
int run_up(UpCommand command);

}  // namespace berth::cli
