// The names of all controllers, as kube-controller-manager's --controllers has them.
//
// Pure. A list of names is read by workloads::is_enabled.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::plane {

inline constexpr std::string_view kGarbageCollectorName = "garbage-collector-controller";
inline constexpr std::string_view kServiceAccountControllerName = "serviceaccount-controller";
// Of the API server itself, which has the key (server/token_secrets.h).
inline constexpr std::string_view kTokenControllerName = "serviceaccount-token-controller";

// The full names, each once.
std::vector<std::string_view> controller_names();
// A name, an alias or '*', with or without '-'. kube-controller-manager does not take "-*".
bool is_controller_name(std::string_view name);
// Whether the controller of this full name runs.
bool runs_controller(std::string_view full_name, std::span<const std::string> names);
// The resources ("deployments.apps") whose controller does not run: their objects are only stored.
std::vector<std::string> resources_without_controller(std::span<const std::string> names);

}  // namespace berth::plane
