// RollingUpdate of a DaemonSet: which pods go, and which nodes get a second one, within maxUnavailable or
// maxSurge.
//
// Pure; any thread. Cost: O(nodes). Source: kube-controller-manager 1.37, pkg/controller/daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "api/types/pod.h"

namespace berth::workloads {

// The pods of a DaemonSet that stay on one node: neither finished nor terminating, at most one of each kind.
struct NodeDaemons {
  const api::Pod* updated = nullptr;  // of the newest revision
  const api::Pod* old = nullptr;      // of another one
  bool updated_available = false;
  bool old_available = false;
  bool wanted = false;  // the node is one that a pod is made for

  // The one that the status counts: both are there only while the update waits for the younger one.
  const api::Pod* counted() const { return old ? old : updated; }
  bool available() const { return old ? old_available : updated && updated_available; }
};

struct DaemonRollout {
  std::vector<const api::Pod*> deletes;
  std::vector<std::size_t>
      creates;  // indexes of nodes that get a pod of the newest revision beside the old one
};

// Old pods that serve nobody go at once, others while no more than `unavailable_max` of the `desired` are
// away.
DaemonRollout replace_daemons(std::span<const NodeDaemons> nodes, std::int64_t desired,
                              std::int64_t unavailable_max);

// An old pod goes when its successor is available. One that is not available gets its successor at once,
// others while no more than `surge_max` successors are awaited. On nodes that are not wanted any more, a pod
// that serves stays until `desired` others do.
DaemonRollout surge_daemons(std::span<const NodeDaemons> nodes, std::int64_t desired, std::int64_t surge_max);

}  // namespace berth::workloads
