// `berth apiserver`: the Kubernetes API alone.
#pragma once

#include <string>

#include "cli/server_part.h"

namespace berth::cli {

struct ApiServerCommand {
  ServerOptions server;
  std::string feature_gates;
  bool in_memory = false;
};

// Serves until SIGINT or SIGTERM. Returns the exit code.
int run_apiserver(ApiServerCommand command);

// Fills in the data directory (none in memory, else the given one, else the user's state directory) and the
// kubeconfig: the given file, else one in the data directory, else one in a new temporary folder.
void choose_data_directory(ServerOptions& options, bool in_memory);

// Prints what went wrong, and returns the exit code for it.
int complain(const Error& error);

}  // namespace berth::cli
