// The embedded control plane's loops: a thread for the scheduler's engine, one for all other deciders.
#pragma once

#include <memory>

#include "base/clock.h"
#include "control/control_plane.h"

namespace berth::cli {

// Owner: the main thread. Runs from construction until stop().
class ControlPlaneLoops {
 public:
  // All outlive it.
  ControlPlaneLoops(client::ApiClient& client, const Clock& clock, const api::Gates& gates,
                    control::ControlPlaneOptions options);
  ~ControlPlaneLoops();

  // Every loop has seen every list.
  bool synced() const;
  // Lets writes under way end, at most `grace`.
  void stop(Duration grace);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::cli
