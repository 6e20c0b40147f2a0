// The names by which a StorageClass gets simulated volumes.
#pragma once

#include <string_view>

namespace berth::controllers {

// spec.provisioner of the class.
inline constexpr std::string_view kSimulatedProvisioner = "simulated.berth.dev";
// Parameters of the class: how long a volume takes ("3s"; "never": it is never made; absent: no time), and
// the nodes for which provisioning fails ("node-1,node-2"; "*": every node).
inline constexpr std::string_view kProvisionAfterParameter = "berth.dev/provision-after";
inline constexpr std::string_view kProvisionFailsOnParameter = "berth.dev/provision-fails-on";

}  // namespace berth::controllers
