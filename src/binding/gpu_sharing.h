// Binder plugin for shares of GPUs. Before the binding it writes the pod's GPU groups to the pod. On a
// cluster it also holds each group's GPU with a reservation pod (gpu_reservation.h).
//
// A container reads its devices and the size of its share from these annotations by the downward API. So
// mutate() can add the environment when the pod is created, and no other object must be made or deleted.
// Pure. Cost: a few look-ups for a pod without a share; else O(pods of the node). docs/gpu-sharing.md.
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

inline constexpr std::string_view kGpuSharingName = "GpuSharing";

std::unique_ptr<const Plugin> make_gpu_sharing();

}  // namespace berth::binding
