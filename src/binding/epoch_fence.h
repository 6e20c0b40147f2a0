// Detects BindRequests that a scheduler wrote after another had replaced it.
//
// A watch shows BindRequests in the order in which they were stored: a request of an earlier term that was
// stored after the first request of a later term is refused before any step. Earlier ones are valid. A
// restarted binder knows the order only from versions and refuses fewer; the scheduler withdraws the rest. A
// manual change of an old request's metadata may make it look late: it fails, its node is not avoided, and
// the pod is decided again. Owner: the binder, one thread. Cost: O(1) for each of at most kSchedulerNamesMax
// names.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "api/types/bind_request.h"

namespace berth::binding {

inline constexpr std::size_t kSchedulerNamesMax = 64;  // schedulers beyond it are not fenced

class EpochFence {
 public:
  // Call for every request that appears or changes, in the order of the watch.
  void note(const api::BindRequest& request);
  // False for a request whose status names its decision: a started one continues.
  bool is_late(const api::BindRequest& request) const;

 private:
  struct Term {
    std::uint64_t epoch = 0;
    std::uint64_t first_version = 0;  // lowest resourceVersion seen of its requests
  };
  std::map<std::string, Term, std::less<>> newest_;  // by scheduler name
};

}  // namespace berth::binding
