// The same workload several times, each time under names of its own.
//
// Copy 3 of a pod "train-0" is "copy-3-train-0". Pods, groups of pods, claims, volume claims and the
// PlacementPolicies of these groups are copied, with what names them; other objects exist once.
// Deterministic. Cost: 30 µs an object.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "simulate/stored_objects.h"

namespace berth::simulate {

// The first copy, as if none of its pods had a node yet. Objects that exist once and that `cluster` has too
// are left out: the cluster's count.
std::vector<planning::Document> first_copy(std::vector<planning::Document> workload,
                                           const std::vector<planning::Document>& cluster);

class WorkloadCopies {
 public:
  // `first`: what first_copy() became in a cluster.
  explicit WorkloadCopies(const std::vector<StoredObject>& first);
  std::size_t pods() const;  // of one copy
  // Objects that all copies share, such as templates and classes.
  const std::vector<StoredObject>& once() const { return once_; }
  // Of one copy, by kind and name.
  std::vector<StoredObject> make(std::size_t number) const;

 private:
  struct Original {
    api::ObjectKey key;
    Json object;
  };
  std::vector<Original> originals_;
  std::vector<StoredObject> once_;
};

}  // namespace berth::simulate
