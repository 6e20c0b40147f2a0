#include "binding/pre_bind_metrics.h"

#include "api/metric_table.h"

namespace berth::binding {
namespace {

// kube-scheduler's buckets: 0.1 s, doubled thirteen times.
constexpr auto kSeconds = [] {
  std::array<double, 14> bounds{};
  double bound = 0.1;
  for (double& one : bounds) {
    one = bound;
    bound *= 2;
  }
  return bounds;
}();

constexpr std::string_view kStatuses[kPreBindStatusCount] = {"success", "failure", "timeout"};
constexpr std::string_view kNeeded[2] = {"false", "true"};

}  // namespace

std::string_view name_of(PreBindStatus status) {
  return kStatuses[static_cast<std::size_t>(status)];
}

PreBindMetrics::PreBindMetrics()
    : took_{{{Histogram(kSeconds), Histogram(kSeconds)},
             {Histogram(kSeconds), Histogram(kSeconds)},
             {Histogram(kSeconds), Histogram(kSeconds)}}} {}

void PreBindMetrics::count(const api::BindRequest& request, PreBindStatus status, Duration took,
                           Duration waited, const std::string& profile) {
  bool needed = false;
  for (const api::ClaimAllocation& claim : request.claims)
    for (const api::DeviceResult& device : claim.allocation.results) {
      if (device.binding_conditions.empty()) continue;
      needed = true;
      const DriverRow row{profile, device.driver, status};
      auto found = waited_.find(row);
      if (found == waited_.end() && waited_.size() < kDriverRowsMax)
        found = waited_.emplace(row, Histogram(kSeconds)).first;
      if (found != waited_.end()) found->second.observe(waited.seconds_f());
    }
  const auto at = static_cast<std::size_t>(status);
  if (needed) ++attempts_[at];
  took_[at][needed ? 1 : 0].observe(took.seconds_f());
}

void PreBindMetrics::write_metrics(MetricsText& text) const {
  text.family(api::family_of(api::Metric::ConditionsAllocations));
  for (std::size_t i = 0; i < kPreBindStatusCount; ++i) text.sample({kStatuses[i]}, attempts_[i]);
  text.family(api::family_of(api::Metric::PreBindDuration));
  for (std::size_t i = 0; i < kPreBindStatusCount; ++i)
    for (std::size_t needed = 0; needed < 2; ++needed)
      if (took_[i][needed].count() > 0) text.histogram({kStatuses[i], kNeeded[needed]}, took_[i][needed]);
  text.family(api::family_of(api::Metric::ConditionsWait));
  for (const auto& [row, waited] : waited_)
    text.histogram({std::get<0>(row), std::get<1>(row), name_of(std::get<PreBindStatus>(row))}, waited);
}

}  // namespace berth::binding
