// Every metric that a part of Berth shows: name, type, unit, help, labels, and what it is about.
//
// Constant data, any thread. What is not in metrics.def cannot be written; the dashboard
// (install/dashboard.h) has a panel for each row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/metrics.h"

namespace berth::api {

enum class Metric : std::uint8_t {
#define METRIC(id, ...) id,
#include "api/metrics.def"
#undef METRIC
};

enum class MetricUnit : std::uint8_t { Count, Flag, Seconds, Milliseconds };

// In the order in which an operator looks.
enum class MetricSubject : std::uint8_t {
  Decisions,
  Queue,
  Binding,
  Writes,
  Devices,
  Health,
  Process,
  ApiServer,
};
inline constexpr std::size_t kMetricSubjectCount = 8;

struct MetricRow {
  MetricFamily family;
  MetricUnit unit;
  MetricSubject subject;
};

// By Metric.
std::span<const MetricRow> metric_table();
const MetricFamily& family_of(Metric metric);

}  // namespace berth::api
