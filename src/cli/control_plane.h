// The embedded control plane's loops: controllers and simulated nodes on one thread, the scheduler on another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/gates.h"
#include "base/clock.h"
#include "client/api_client.h"

namespace berth::cli {

struct ControlPlaneOptions {
  std::vector<std::string> scheduler_names = {"berth", "default-scheduler"};
};

// Owner: the main thread. Runs from start() until stop().
class ControlPlane {
 public:
  // All three outlive it.
  ControlPlane(client::ApiClient& client, const Clock& clock, const api::Gates& gates, ControlPlaneOptions options);
  ~ControlPlane();

  void start();
  // Every loop has seen every list.
  bool synced() const;
  // Lets writes under way end, at most `grace`.
  void stop(Duration grace);

 private:
  struct Loops;
  std::unique_ptr<Loops> loops_;
};

}  // namespace berth::cli
