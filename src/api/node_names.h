// Names of labels and taints that Kubernetes gives every node. Source: the well-known labels, annotations and
// taints of its reference.
#pragma once

#include <string_view>

namespace berth::api {

inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
// Of a cordoned node.
inline constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";

}  // namespace berth::api
