// The objects of storms: a cluster of racks with several kinds of devices, and what users ask of it.
//
// Pure. Device kinds: `gpu` (whole), `mig-1g` and `vgpu` (partitions of one more GPU a node, never both at
// once), `fabric` (any node, with binding conditions). A need is the name of a claim template.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace berth::sim {

struct StormCluster {
  int racks = 3;
  int nodes_per_rack = 3;
  int gpus_per_node = 4;
  int fabric_cards = 4;
};

std::string storm_node_name(int number);  // from 1
Json storm_node(const StormCluster& cluster, int number);
// The pool of one node: its counters' slice and its devices' slice. Devices named in `without` are left out.
std::vector<Json> storm_slices(const StormCluster& cluster, int number, std::int64_t generation,
                               const std::vector<std::string>& without);
// What does not belong to one node: device classes, claim templates, priority classes, the fabric's slice.
std::vector<Json> storm_basics(const StormCluster& cluster);

// {name, group, need, cpuMillis, runS, priority, fabric} as a Pod. `need`: empty, a claim template,
// "extended" (an extended resource) or "claim/NAME" (a claim that pods share).
Json storm_pod(const Json& words);
// {name, min, topology, priority} as a PodGroup; without `min` its policy is basic.
Json storm_group(const Json& words);
// A ResourceClaim for one whole GPU.
Json storm_claim(const std::string& name);

}  // namespace berth::sim
