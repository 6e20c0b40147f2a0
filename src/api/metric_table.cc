#include "api/metric_table.h"

namespace berth::api {
namespace {

constexpr MetricRow kMetrics[] = {
#define METRIC(id, name, type, unit, subject, help, ...) \
  {{name, MetricType::type, help, {__VA_ARGS__}}, MetricUnit::unit, MetricSubject::subject},
#include "api/metrics.def"
#undef METRIC
};

}  // namespace

std::span<const MetricRow> metric_table() {
  return kMetrics;
}

const MetricFamily& family_of(Metric metric) {
  return kMetrics[static_cast<std::size_t>(metric)].family;
}

}  // namespace berth::api
