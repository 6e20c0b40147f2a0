// Which bind requests were written by a scheduler that another had replaced by then.
//
// One watch shows bind requests in the order in which they were stored: what an earlier term wrote behind the
// first request of a later term is refused, untouched. What it wrote before stands. A binder that restarts
// knows the order only as far as versions tell it and refuses less; the scheduler withdraws what is left.
// A person's change of an old request's metadata may make it look late: it fails without blame and is decided
// anew. Owner: the binder, one thread. Cost: O(1) for each of at most kSchedulerNamesMax names.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "api/types/bind_request.h"

namespace berth::binding {

inline constexpr std::size_t kSchedulerNamesMax = 64;  // requests of more schedulers are not fenced

class EpochFence {
 public:
  // Every request that appears or changes, in the order of the watch.
  void note(const api::BindRequest& request);
  // Only of a request whose status says nothing yet: what was begun is carried on.
  bool is_late(const api::BindRequest& request) const;

 private:
  struct Term {
    std::uint64_t epoch = 0;
    std::uint64_t first_version = 0;  // resourceVersion of its first request, as far as seen
  };
  std::map<std::string, Term, std::less<>> newest_;  // by scheduler name
};

}  // namespace berth::binding
