// Nodes that pods do not use. Many pods share one list: a copy costs O(1).
//
// Values, any thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/ids.h"

namespace berth::placement {

class AvoidedNodes {
 public:
  AvoidedNodes() = default;
  // Ascending.
  explicit AvoidedNodes(std::vector<model::NodeId> nodes);

  // Ascending. This outlives it.
  std::span<const model::NodeId> nodes() const;
  bool empty() const { return !nodes_; }
  // Those of both. One that is empty leaves the other's list as it is; else O(nodes).
  AvoidedNodes with(const AvoidedNodes& others) const;
  // By the nodes, in their order; O(1) where both share one list.
  friend bool operator<(const AvoidedNodes& a, const AvoidedNodes& b);

 private:
  std::shared_ptr<const std::vector<model::NodeId>> nodes_;  // null: none
};

using AvoidedByPod = std::map<std::string, AvoidedNodes>;  // by UID
// Empty for a pod that it does not have.
AvoidedNodes avoided_by(const AvoidedByPod& avoided, const std::string& uid);

}  // namespace berth::placement
