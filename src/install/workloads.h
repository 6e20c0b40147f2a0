// The workloads: the scheduler's Deployment with its related objects, and the node agent's DaemonSet. Only
// objects.cc includes this.
#pragma once

#include <string_view>

#include "base/json.h"
#include "install/objects.h"

namespace berth::install {

inline constexpr std::int64_t kStatusPort = 10259;  // the port of kube-scheduler
inline constexpr std::int64_t kDashboardPort = 8443;
inline constexpr std::string_view kDashboardService = "berth-dashboard";

// Labels of every object; a workload's own name is its component and selects its pods.
Json labels_of(std::string_view component, const InstallOptions& options);

// Of the scheduler's pods, for selectors.
Json scheduler_labels();
// A comma-separated list as an array.
Json words(std::string_view list);

Json scheduler_deployment(const InstallOptions& options);
Json disruption_budget(const InstallOptions& options);
Json network_policy(const InstallOptions& options);
Json metrics_service(const InstallOptions& options);
Json dashboard_service(const InstallOptions& options);
Json service_monitor(const InstallOptions& options);
Json node_agent_daemon_set(const InstallOptions& options);

}  // namespace berth::install
