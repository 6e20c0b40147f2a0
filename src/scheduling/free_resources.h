// What a node has left: the arithmetic that filters and explanations share.
#pragma once

#include "model/cluster.h"

namespace berth::scheduling {

// What is left of one resource of the node; may be negative.
inline std::int64_t free_of(const model::NodeRow& row, const model::NodeUse& use,
                            model::ResourceId resource) {
  return model::amount_in(row.allocatable, resource) - model::amount_in(use.requested, resource);
}

}  // namespace berth::scheduling
