// The embedded control plane's loops: a thread for the scheduler's engine, one for all other deciders.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "binding/pod_admission.h"
#include "cli/configuration.h"
#include "cli/plugins.h"
#include "health/health_cache.h"
#include "plane/control_plane.h"

namespace berth::explain {
class DecisionSink;
}

namespace berth::cli {

// For requests that run when the process ends.
inline constexpr Duration kStopGrace = Duration::millis(1500);

// The options of a configuration for the loops and the nodes' agents.
plane::ControlPlaneOptions plane_options(const Configuration& configuration, const Plugins& plugins);
// Admission by the binder plugins of these options. Refuses unknown names, as the flag's error.
Result<std::unique_ptr<const binding::PodAdmission>> pod_admission(const plane::ControlPlaneOptions& options);
health::HealthTiming health_timing(const Configuration& configuration);

// Owner: the main thread. Runs from construction until stop().
class ControlPlaneLoops {
 public:
  // All outlive it; `decisions` (or null) stores every decision. Deciders run on wall time of `clock`.
  // Without a leadership the loops follow and decide nothing until lead().
  ControlPlaneLoops(client::ApiClient& client, const Clock& clock, const api::Gates& gates,
                    plane::ControlPlaneOptions options,
                    std::optional<client::Leadership> leadership = client::Leadership{},
                    explain::DecisionSink* decisions = nullptr);
  ~ControlPlaneLoops();

  // Every loop has received every list.
  bool synced() const;
  // Leads once everything has been listed again.
  void lead(client::Leadership leadership);
  // Thread-safe. Values are about a second old.
  void write_metrics(MetricsText& text) const;
  // Thread-safe: the scheduler's decisions about one pod or group (explain/decision_history.h).
  std::optional<std::string> page(std::string_view path) const;
  // Adds lines of the decision log of an earlier process.
  void remember(std::string_view decisions);
  // Waits for writes in flight, at most `grace`.
  void stop(Duration grace);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::cli
