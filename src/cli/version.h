// The versions that Berth reports.
#pragma once

namespace berth::cli {

inline constexpr const char* kBerthVersion = "0.1.0";
inline constexpr const char* kKubernetesVersion = "v1.37.0";

}  // namespace berth::cli
