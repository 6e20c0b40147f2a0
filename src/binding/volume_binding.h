// VolumeBinding: the pod's PersistentVolumeClaims that the decision binds. A volume that exists gets the
// claim's reference, a claim to be provisioned gets the node; the volume controller and the provisioner do
// the rest while the request waits. Source: kube-scheduler's plugin, PreBind.
//
// Each write names the version that was seen and carries the decision (kBindingForAnnotation). So a rollback
// undoes only this decision's writes. A reference or a node that somebody removes again counts as a failure.
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

inline constexpr std::string_view kVolumeBindingName = "VolumeBinding";
// On a PersistentVolume and a PersistentVolumeClaim: the latest decision that reserved or requested it.
inline constexpr std::string_view kBindingForAnnotation = "scheduling.berth.dev/binding-for";
// With it: when it did, RFC 3339. The time-out counts from here, also in a process that starts later.
inline constexpr std::string_view kBindingSinceAnnotation = "scheduling.berth.dev/binding-since";
// On a claim: the volume controller has asked this provisioner to make a volume, which it may be doing.
inline constexpr std::string_view kStorageProvisionerAnnotation = "volume.kubernetes.io/storage-provisioner";

std::unique_ptr<const Plugin> make_volume_binding();

}  // namespace berth::binding
