// Labels that a pod asks for and no node has: mistyped keys and values.
//
// Owner: one DomainIndex, on one thread. Cost: for a new selector some passes over the labels of all nodes;
// pods with an equal selector share the text until the labels of a node change.
#pragma once

#include <cstdint>
#include <string>

#include "api/types/pod.h"
#include "base/lru_map.h"
#include "model/cluster.h"
#include "placement/signature.h"

namespace berth::placement {

// Labels that one text names, different keys or values that are compared with one of them, and kept texts.
inline constexpr std::size_t kAbsentLabelsMax = 3, kLabelsComparedMax = 1'024, kAbsentTextsMax = 64;

// "no node has label zone=a, nodes have zone=b; no node has label disks, nearest: disk". Of the selector, and
// of the required affinity if each of its terms asks for such a label. Empty if every label is on a node.
std::string absent_labels(const model::Cluster& cluster, const api::Pod& pod);

// absent_labels() with what was found before. The text is valid until the next call.
class AbsentLabels {
 public:
  const std::string& of(const model::Cluster& cluster, const api::Pod& pod);

 private:
  struct Kept {
    std::uint64_t labels_stamp = 0;  // of the cluster; 0: not looked for yet
    std::string text;
  };
  LruMap<Kept> kept_{kAbsentTextsMax};  // by node selector and required affinity
  PodSignature selector_;
};

}  // namespace berth::placement
