// Waiting pods of one template: all that is read of them for their placement is the same.
//
// Owner: one Cluster, on one thread. Cost: a hash of the pod's labels and requests, and a comparison, when it
// comes or changes. Memory: one pod for each template of pods that wait.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api/types/pod.h"
#include "model/ids.h"

namespace berth::model {

using PodTemplateId = DenseId<struct PodTemplateTag>;

// Templates with one hash that a pod is compared with; it is then like no other.
inline constexpr std::size_t kTemplatesComparedMax = 8;

// Whether the pods differ in nothing but their names, UIDs, times and conditions. False proves nothing: pods
// with claims, volumes, preferred nodes or rules about other pods are not compared. Cost: no allocation.
bool are_alike(const api::Pod& a, const api::Pod& b);

class PodTemplates {
 public:
  // Of one pod more. None: it is like no other.
  PodTemplateId add(const std::shared_ptr<const api::Pod>& pod);
  // Of one pod less; none is ignored.
  void remove(PodTemplateId id);
  std::size_t size() const { return by_hash_.size(); }

 private:
  struct Row {
    std::shared_ptr<const api::Pod> first;
    std::size_t hash = 0;
    std::size_t pods = 0;
  };
  std::vector<Row> rows_;
  std::vector<PodTemplateId> free_;
  std::unordered_multimap<std::size_t, PodTemplateId> by_hash_;  // only looked up
};

}  // namespace berth::model
