// How many live nodes have a trait that scores read: each image, a PreferNoSchedule taint. A pod whose traits
// no node has costs its scores nothing.
//
// Owner: one Cluster, on one thread. Cost: a node that changes O(its images) look-ups if they changed, else
// one comparison. Memory: some 100 bytes a distinct name of an image.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "api/types/cluster.h"

namespace berth::model {

class NodeTraits {
 public:
  // One node is replaced; null: it was not there, or is not any more.
  void replace(const api::Node* before, const api::Node* after);

  // 0 for a name that no node lists.
  std::size_t nodes_with_image(const std::string& name) const {
    const auto at = by_image_.find(name);
    return at == by_image_.end() ? 0 : at->second;
  }
  bool has_images() const { return !by_image_.empty(); }
  // Nodes with a taint of the effect PreferNoSchedule.
  std::size_t softly_tainted() const { return softly_tainted_; }

 private:
  std::unordered_map<std::string, std::size_t> by_image_;
  std::size_t softly_tainted_ = 0;
};

}  // namespace berth::model
