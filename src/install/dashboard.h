// The dashboard for Grafana: a row of panels a subject, a panel a metric of api/metric_table.h.
//
// Pure, any thread. deploy/grafana/berth.json and the chart's are what grafana_dashboard() gives; tests say
// when they differ. Source: Grafana's dashboard JSON model, schema version 39 (Grafana 10.4 and newer).
#pragma once

#include <string_view>

#include "base/json.h"

namespace berth::install {

inline constexpr std::string_view kDashboardConfigMap = "berth-dashboard";
inline constexpr std::string_view kDashboardFile = "berth.json";

Json grafana_dashboard();

}  // namespace berth::install
