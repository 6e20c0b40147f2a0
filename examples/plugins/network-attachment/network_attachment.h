// Binder plugin that attaches a pod to a network before it is bound.
//
// A pod asks by the annotation example.com/network. PreBind makes a ConfigMap "<pod>-network" that names
// network and node, and waits until a network controller writes `state: attached` (or `failed`) into it;
// PostBind copies the address to the pod; Rollback deletes the ConfigMap. A real controller would have a kind
// of its own instead of ConfigMaps; nothing else would differ.
#pragma once

#include "binding/plugin.h"

namespace example {

inline constexpr std::string_view kNetworkAttachmentName = "NetworkAttachment";

std::unique_ptr<const berth::binding::Plugin> make_network_attachment();

}  // namespace example
