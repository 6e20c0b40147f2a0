// Binder plugin that validates what a pod asks of GPUs: whole ones as an extended resource, or fractions by
// annotations. It changes and writes nothing.
//
// Pure. Cost: a few lookups for a pod without GPUs. Source: the Binder document's GPU request validator and
// KAI Scheduler's rules (docs/binder.md#gpu-requests says where this one refuses more).
#pragma once

#include "api/types/gpu_share.h"
#include "binding/plugin.h"

namespace berth::binding {

inline constexpr std::string_view kGpuRequestsName = "GpuRequests";

std::unique_ptr<const Plugin> make_gpu_requests();

}  // namespace berth::binding
