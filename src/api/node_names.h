// Names of labels and taints that Kubernetes gives every node, and of its mirror pods. Source: the well-known
// labels, annotations and taints of Kubernetes' reference.
#pragma once

#include <string_view>

namespace berth::api {

inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
// Of a cordoned node.
inline constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";
// Of a node whose condition Ready is False, or Unknown.
inline constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";
inline constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";
inline constexpr std::string_view kRegionLabel = "topology.kubernetes.io/region";
inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
// Of the object of a static pod, which the kubelet makes.
inline constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

}  // namespace berth::api
