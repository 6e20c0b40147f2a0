// KEP-5007's metrics of pods with claims: how the wait for their devices ended, and how long all steps
// before the binding took.
//
// Owner: the binder; a copy is a snapshot. Memory: a row for each driver and profile, at most kDriverRowsMax.
// Source: KEP-5007, "What specific metrics should inform a rollback?"; kube-scheduler 1.37 for the wait.
#pragma once

#include <array>
#include <map>
#include <string>
#include <tuple>

#include "api/types/bind_request.h"
#include "base/metrics.h"

namespace berth::binding {

enum class PreBindStatus : std::uint8_t { Success, Failure, Timeout };
inline constexpr std::size_t kPreBindStatusCount = 3;
std::string_view name_of(PreBindStatus status);  // "success", "failure", "timeout"

inline constexpr std::size_t kDriverRowsMax = 256;

class PreBindMetrics {
 public:
  PreBindMetrics();
  // Counts an ended attempt at this request. `waited`: for binding conditions. `profile`: the pod's
  // schedulerName.
  void count(const api::BindRequest& request, PreBindStatus status, Duration took, Duration waited,
             const std::string& profile);
  void write_metrics(MetricsText& text) const;

 private:
  using DriverRow = std::tuple<std::string, std::string, PreBindStatus>;  // profile, driver
  std::array<std::uint64_t, kPreBindStatusCount> attempts_{};             // with binding conditions
  std::array<std::array<Histogram, 2>, kPreBindStatusCount> took_;        // by status; [1]: with conditions
  std::map<DriverRow, Histogram> waited_;                                 // one observation a device
};

}  // namespace berth::binding
