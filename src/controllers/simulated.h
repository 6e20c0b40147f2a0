// What the parts of the simulated node agent share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/kinds.h"
#include "api/types/simulated_node.h"

namespace berth::controllers {

using api::is_simulated;
using api::runs_pods;
// The addresses that a simulated node and its pods report: derived from names, so they never change.
std::string simulated_host_ip(std::string_view node_name);
std::string simulated_pod_ip(std::string_view pod_uid);

// The duration in the annotation; nothing when it is absent, malformed or negative.
std::optional<Duration> annotated_duration(const api::ObjectMeta& meta, std::string_view annotation);

}  // namespace berth::controllers
