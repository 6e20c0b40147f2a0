// VolumeBinding: the pod's PersistentVolumeClaims that the decision binds. A volume that exists gets the
// claim's reference, a claim to be provisioned gets the node; the volume controller and the provisioner do
// the rest while the request waits. Source: kube-scheduler's plugin, PreBind.
//
// Each write names the version that was seen and carries the decision (kBindingForAnnotation), so that only
// what this decision wrote is undone, and a reference or a node that is taken away again counts as a failure.
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

inline constexpr std::string_view kVolumeBindingName = "VolumeBinding";
// On a PersistentVolume and a PersistentVolumeClaim: the latest decision that reserved or requested it.
inline constexpr std::string_view kBindingForAnnotation = "scheduling.berth.dev/binding-for";

std::unique_ptr<const Plugin> make_volume_binding();

}  // namespace berth::binding
