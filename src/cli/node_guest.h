// `berth node-agent` next to a kubelet: reads the health streams of the node's DRA drivers and writes its
// NodeDeviceHealth. Touches none of the kubelet's sockets, files and statuses.
#pragma once

#include "cli/configuration.h"
#include "cli/stop_signal.h"

namespace berth::cli {

// Runs until a signal.
Status run_node_guest(const Configuration& config, const StopSignal& stop);

}  // namespace berth::cli
