// The options of this process's API server, from a configuration.
#pragma once

#include <string>

#include "cli/api_server_component.h"
#include "cli/configuration.h"

namespace berth::cli {

// Fills in the data directory: none in memory, else the given one, else the user's state directory. Fills in
// the kubeconfig: the given file, else one in the data directory, else one in a new temporary folder.
ServerOptions server_options(const Configuration& configuration);

// "$XDG_STATE_HOME/berth", else "~/.local/state/berth".
std::string state_directory();

}  // namespace berth::cli
