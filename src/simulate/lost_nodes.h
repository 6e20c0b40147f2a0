// Nodes that go at once, and what becomes of their pods.
//
// Pure. Source: Kubernetes' pod GC (pods of a node that is gone); the pods' controllers make new ones.
#pragma once

#include <string>
#include <vector>

#include "planning/offline_cluster.h"

namespace berth::simulate {

struct LostPod {
  client::NamedKey key;
  std::string node;
  bool returns = false;  // it waits again; false: it goes with its node
};

// The nodes that `domain` means: a node's name, or KEY=VALUE, where KEY is a label of nodes or a level of a
// Topology among the documents. By name; the error says that there is none.
Result<std::vector<std::string>> nodes_of_domain(const std::vector<planning::Document>& documents,
                                                 const std::string& domain);

// The nodes, their slices and their pods are gone, with the claims that nobody else uses. A pod waits again,
// as its controller would make it again, unless it is one of a DaemonSet, of the node itself, or ends anyway.
// Pods of these nodes, by node and name; without those that had finished. Cost: O(slices + pods of the
// nodes).
std::vector<LostPod> lose_nodes(planning::OfflineCluster& offline, const std::vector<std::string>& nodes);

}  // namespace berth::simulate
