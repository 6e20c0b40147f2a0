// How many published slices have a trait that decisions ask about, so that no decision looks at each device.
//
// Owner: one Cluster, on one thread. Cost: a slice that changes O(its devices). Memory: one entry a driver.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "api/types/dra.h"

namespace berth::model {

class SliceTraits {
 public:
  void add(const api::ResourceSlice& slice);
  void remove(const api::ResourceSlice& slice);  // that was added

  // Whether a device consumes resources of its node.
  bool take_of_nodes() const { return taking_ > 0; }
  // Whether a device, of the driver or at all, draws on shared counters or can be shared.
  bool have_parts(std::string_view driver) const { return in_parts_.contains(driver); }
  bool have_parts() const { return !in_parts_.empty(); }

 private:
  std::size_t taking_ = 0;                                    // slices
  std::map<std::string, std::size_t, std::less<>> in_parts_;  // slices by driver; each at least 1
};

}  // namespace berth::model
