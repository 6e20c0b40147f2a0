// The positions of nodes in one list, found by node id. The next list replaces it.
//
// Owner: one GroupCycle, on one thread. Cost: start() O(nodes of the list), find() O(1). Memory: 8 bytes a
// node of the cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/ids.h"

namespace berth::placement {

class NodePositions {
 public:
  // Differs for every list; 0 is none's.
  using List = std::uint32_t;

  List start(std::span<const model::NodeId> nodes) {
    if (++latest_ == 0) {  // all numbers were used
      positions_.clear();
      latest_ = 1;
    }
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].index() >= positions_.size()) positions_.resize(nodes[i].index() + 1);
      positions_[nodes[i].index()] = {latest_, i};
    }
    return latest_;
  }
  List latest() const { return latest_; }
  // In the latest list.
  std::optional<std::uint32_t> find(model::NodeId node) const {
    if (node.index() >= positions_.size() || positions_[node.index()].list != latest_) return std::nullopt;
    return positions_[node.index()].at;
  }

 private:
  struct Position {
    List list = 0;
    std::uint32_t at = 0;
  };
  std::vector<Position> positions_;
  List latest_ = 0;
};

}  // namespace berth::placement
