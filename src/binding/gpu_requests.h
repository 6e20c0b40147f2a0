// Binder plugin that validates what a pod asks of GPUs: whole ones as an extended resource, or fractions by
// annotations. It changes and writes nothing.
//
// Pure. Cost: a few lookups for a pod without GPUs. Source: the Binder document's GPU request validator and
// KAI Scheduler's rules (docs/binder.md#gpu-requests says where this one refuses more).
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

inline constexpr std::string_view kGpuRequestsName = "GpuRequests";

inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kGpuFraction = "gpu-fraction";  // share of each device, 0.01 to 0.99
inline constexpr std::string_view kGpuMemory = "gpu-memory";      // MiB of each device
inline constexpr std::string_view kGpuFractionDevices = "gpu-fraction-num-devices";
inline constexpr std::string_view kGpuFractionContainer = "gpu-fraction-container-name";
inline constexpr std::string_view kGpuMps = "mps";

// Devices that one pod may share: as many as one claim can allocate.
inline constexpr std::uint64_t kGpuFractionDevicesMax = 32;

std::unique_ptr<const Plugin> make_gpu_requests();

}  // namespace berth::binding
