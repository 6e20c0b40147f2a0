// Free resources of a node, for filters and explanations.
#pragma once

#include "model/cluster.h"

namespace berth::placement {

// The free amount of one resource; may be negative.
inline std::int64_t free_of(const model::NodeRow& row, const model::NodeUse& use,
                            model::ResourceId resource) {
  return model::amount_in(row.allocatable, resource) - model::amount_in(use.requested, resource);
}

}  // namespace berth::placement
