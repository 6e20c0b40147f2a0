// Reservation pods: on a cluster, one pod holds the GPU of each GPU group, so that kubelet gives it to nobody
// else and reports which device it is.
//
// A reservation pod is the register of its group. Each user has an entry with the size of its share, added on
// the pod's version before the user is bound. So the sum of all deciders' users never exceeds one GPU. The
// pod is made without a node and bound on its version, so a create that lands late takes no GPU. It is
// deleted on its version as well, once no entry is of a pod that can still use it: an entry that was
// added unseen refuses the delete. Users' pods are never deleted. docs/gpu-sharing.md#reservation-pods.
//
// Pure, as plugins and reconcilers are. Cost: O(users of the GPU).
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

inline constexpr std::string_view kGpuReservationKeeperName = "gpu-reservation-keeper";

// An entry: this prefix and the UID of the user; its value is "0.50 namespace/name".
inline constexpr std::string_view kGpuUserPrefix = "gpu-user.scheduling.berth.dev/";
// On a reservation pod: the device, where its container writes it; else kubelet's pod status names it.
inline constexpr std::string_view kGpuDeviceAnnotation = "scheduling.berth.dev/gpu-device";
// On a user: the devices of its groups, in their order, with commas between them.
inline constexpr std::string_view kGpuDevicesAnnotation = "scheduling.berth.dev/gpu-devices";

// How long a group that another one's reservation pod still occupies is looked at again.
inline constexpr Duration kGpuReservationPoll = Duration::seconds(1);

// Makes the group's reservation pod, enters the request's pod, binds the former, then waits for the device.
PreBindStep reserve_gpu(const BindContext& context, const std::string& group);
// Removes the pod's entry. None: it has none.
std::optional<client::Chain> release_gpu(const BindContext& context, const std::string& group);
// The devices of the request's groups, with commas; empty while one is unknown.
std::string reserved_devices(const BindContext& context);

// A change of a reservation pod wakes the requests of its users.
void requests_of_gpu_reservation(const client::View& view, const client::Delta& delta,
                                 std::vector<api::ObjectKey>& keys);

// Reconciler; keys are reservation pods. Removes entries of pods that do not use the GPU, and deletes the
// reservation pod with the last one or when it has failed. Before an absent user counts as gone it is read,
// and before one without a binding counts as such it gets a new version.
std::unique_ptr<client::Reconciler> make_gpu_reservation_keeper();

}  // namespace berth::binding
