// Decisions that gave a claim all devices that its request selects on a node (allocationMode: All) and that
// the claim does not show yet. If more such devices come to the node before the claim is allocated, the
// decision is out of date: it would give less than all.
//
// Owner: the scheduler, one thread. Cost of a look: the selectors of the All requests, once for each slice
// that changed; requests without such a claim cost one look-up each. Memory: one key for each BindRequest
// with claims that is not bound. Source: resource.k8s.io/v1 DeviceAllocationModeAll.
#pragma once

#include <set>
#include <vector>

#include "client/view.h"
#include "dra/allocator.h"

namespace berth::scheduling {

class WholeClaims {
 public:
  // The request as the view shows it; forgets one that is no longer to be bound.
  void note(const api::ObjectKey& key, const api::BindRequest* request);
  // Devices, or what selects them, may have changed.
  void devices_changed() { look_ = true; }
  // Once for each change: the requests whose claims would get more devices now, in the order of their names.
  // `allocator` knows the devices of `cluster`.
  std::vector<api::BindRequestPtr> outdated(const client::View& view, const model::Cluster& cluster,
                                            dra::Allocator& allocator);
  std::size_t size() const { return waiting_.size(); }

 private:
  std::set<api::ObjectKey> waiting_;
  bool look_ = false;
};

}  // namespace berth::scheduling
