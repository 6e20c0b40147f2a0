// What a pod avoids for a while after a failed binding: for its claim the devices that did not get ready;
// the node if devices were not the reason.
//
// Owner: the scheduler. Memory: proportional to the failures of the last cool-down.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/cluster.h"

namespace berth::scheduling {

// Nodes of one pod, devices of one claim; a new entry evicts the oldest.
inline constexpr std::size_t kAvoidedMax = 32;

class BindFailureAvoidList {
 public:
  // Records a request that failed for good. Expires entries.
  void note(const api::BindRequest& request, const model::Cluster& cluster, Time now, Time until);
  void forget(const std::string& uid) { nodes_.erase(uid), devices_.erase(uid); }

  // Ascending.
  std::vector<model::NodeId> nodes(const std::string& pod_uid, Time now) const;
  // Of the pod's claims that are not allocated.
  std::vector<model::DeviceId> devices(const model::Cluster& cluster, const api::Pod& pod, Time now) const;

 private:
  template <class Id>
  struct Avoided {
    Id id;
    Time until;
  };
  template <class Id>
  using ByUid = std::map<std::string, std::vector<Avoided<Id>>>;

  template <class Id>
  static void add(std::vector<Avoided<Id>>& list, Id id, Time until);
  template <class Id>
  static void drop_expired(ByUid<Id>& lists, Time now);

  ByUid<model::NodeId> nodes_;      // of pods
  ByUid<model::DeviceId> devices_;  // of claims
};

}  // namespace berth::scheduling
