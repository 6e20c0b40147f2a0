// The objects of Kubernetes and of Berth that stand for a project's group, as they are created.
//
// Pure; the engine's thread. Source: scheduling.k8s.io v1beta1 and v1alpha3, PlacementPolicy.
#pragma once

#include "groups/source.h"

namespace berth::groups {

class MadeObjects {
 public:
  // All outlive it. `member`: one of the pods, whose priority every group of the tree must have.
  MadeObjects(const Source& source, const Asked& asked, const WantedTree& tree, const api::Pod& member)
      : source_(source), asked_(asked), tree_(tree), member_(member) {}

  Json group(const WantedGroup& group) const;
  // Of a group that prefers something.
  Json policy(const WantedGroup& group) const;

 private:
  Json metadata(const std::string& name) const;

  const Source& source_;
  const Asked& asked_;
  const WantedTree& tree_;
  const api::Pod& member_;
};

// What a PlacementPolicy about the group names.
api::PlacementTarget target_of(const WantedGroup& group);

}  // namespace berth::groups
