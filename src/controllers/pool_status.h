// What a ResourcePoolStatusRequest says of one resource pool.
//
// Pure functions, any thread. Cost: O(devices of the pool), times its partition types. Source: KEP-5677, and
// the fields of PoolStatus in resource.k8s.io/v1alpha3; clients match the texts of validationError.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/dra.h"
#include "base/json.h"
#include "client/device_evictions.h"

namespace berth::controllers {

struct PoolSlice {
  const api::ResourceSlice* slice = nullptr;
  std::string partition_attribute;  // spec.partitionTypeAttribute; empty: it names none
};

// By claims, without administrators' access.
struct PoolUse {
  std::set<std::string, std::less<>> devices;  // their names
  std::map<std::string, Quantity> consumed;    // of each capacity, over all devices
};

struct PoolContents {
  std::vector<PoolSlice> slices;  // of the newest generation, at least one
  PoolUse use;
};

// A PoolStatus. A pool with fewer slices than it announces has an error instead of counts. A device counts as
// unavailable when it is free, and a taint of its own or of a rule keeps pods away.
// `default_attribute` groups partitions of a pool none of whose slices names an attribute; empty: none.
Json pool_status(const PoolContents& pool, const client::TaintRuleList& rules,
                 std::string_view default_attribute);

}  // namespace berth::controllers
