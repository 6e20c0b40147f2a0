// What the init containers of a pod on a simulated node do: one after the other, each until it succeeds.
//
// Pure functions, any thread. Source: the kubelet of Kubernetes 1.37, KEP-753 (sidecars).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "controllers/simulated_status.h"

namespace berth::controllers {

struct InitStep {
  InitChanges changes;
  std::vector<std::size_t> started;      // of the pod's init containers, in their order
  std::optional<std::size_t> backs_off;  // which one waits for its restart from now on
  bool is_done = false;                  // the pod's other containers may start
  bool has_failed = false;               // and does not restart
  std::optional<Time> due;               // when it goes on, where nothing changes now
};

// From what the agent has reported to what holds at this time. At most one failed run is ended. Cost: one
// pass over the init containers; two parses where the pod has them and was created before.
InitStep init_step(const api::Pod& pod, Time now);

}  // namespace berth::controllers
