// The arithmetic of node resources that filter, score and the fit counts share.
#pragma once

#include "model/cluster.h"
#include "scheduling/framework.h"

namespace berth::scheduling::plugins {

// What is left of one resource of the node; may be negative.
inline std::int64_t free_of(const model::NodeRow& row, const model::NodeUse& use,
                            model::ResourceId resource) {
  return model::amount_in(row.allocatable, resource) - model::amount_in(use.requested, resource);
}

// How many more pods with these requests (a pod slot is one of them) the node has room for, by resources
// only.
std::int64_t room_for(const model::NodeRow& row, const model::NodeUse& use,
                      const model::ResourceAmounts& requests);

// Whether the node has room for all of this, or devices serve it there.
bool fits(const Attempt& attempt, NodeId node, const model::ResourceAmounts& charges);
// The same. If not it is refused by the plugin, with a reason for each resource of which
// it has too little.
bool fits_or_is_refused(Attempt& attempt, std::string_view plugin, NodeId node,
                        const model::ResourceAmounts& charges);

}  // namespace berth::scheduling::plugins
