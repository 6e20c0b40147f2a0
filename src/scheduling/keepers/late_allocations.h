// How long the devices of a pod that is gone stay in use for an allocation that may still be written.
//
// A pod may end while its BindRequest is under way. The binder may have sent the claim's allocation, or may
// send it before it learns of the end, and the watch of claims may lag. The model keeps the devices until the
// claim has another version (model::LateAllocation); the binder makes one where the fate of its write is
// unknown. Where the binder wrote nothing, this keeper gives them free after kLateAllocationMax. Owner: the
// scheduler, one thread. Cost and memory: proportional to such claims, usually none.
#pragma once

#include <map>
#include <optional>

#include "model/cluster.h"

namespace berth::scheduling {

// Longer than a write of the binder takes, with its retries.
inline constexpr Duration kLateAllocationMax = Duration::seconds(30);

class LateAllocations {
 public:
  // True if devices came free since the last call.
  bool update(model::Cluster& cluster, Time now);
  std::optional<Time> next_time() const;
  // In a standby nobody looks after them: it knows of no request when it takes over (TermSeals).
  static void forget_all(model::Cluster& cluster);

 private:
  std::map<model::ClaimId, Time> until_;
};

}  // namespace berth::scheduling
