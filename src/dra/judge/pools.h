// The devices that a node can use, recomputed from the slices.
//
// Source: KEP-4381 pools and generations, KEP-4815 per-device node selection, KEP-5007 order.
#pragma once

#include <vector>

#include "dra/judge/judge.h"

namespace berth::dra::judge {

struct Candidate {
  const api::ResourceSlice* slice;
  const api::Device* device;
  bool here;                                    // false: in a slice for this node, but for another node
  std::vector<const api::ResourceSlice*> pool;  // all slices of the generation
  bool mixed = false;                           // devices of the pool have binding conditions
};

struct Gathered {
  std::vector<Candidate> candidates;  // in search order
  bool unusable_pools = false;        // one is incomplete or contradicts itself
  bool invalid_pools = false;         // one contradicts itself
};

Gathered gather(const JudgedWorld& world);

}  // namespace berth::dra::judge
