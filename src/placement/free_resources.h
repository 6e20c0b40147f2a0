// Amounts of one resource: free of a node, and asked for by a pod.
#pragma once

#include "model/cluster.h"

namespace berth::placement {

// The free amount of one resource; may be negative.
inline std::int64_t free_of(const model::NodeRow& row, const model::NodeUse& use,
                            model::ResourceId resource) {
  return model::amount_in(row.allocatable, resource) - model::amount_in(use.requested, resource);
}

// `requests`: model::ResourceAmounts or model::ChargedAmounts.
template <class Amounts>
std::int64_t asked_of(const Amounts& requests, model::ResourceId resource) {
  for (const model::ResourceAmount& one : requests)
    if (one.resource == resource) return one.amount;
  return 0;
}

}  // namespace berth::placement
