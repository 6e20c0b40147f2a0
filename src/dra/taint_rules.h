// DeviceTaintRules as taints of the devices that they select: a stage between the watch and the cluster.
//
// Owner: one decider, on one thread. Every slice that the cluster sees has the taints of its rules after its
// own, rules by name; a slice that no rule selects is passed on unchanged and shared. A changed rule makes
// new versions of the slices that it selects or selected, and of no others, so caches of other slices stay
// valid. Rules whose effect blocks no pod (None, effects that this release does not know) change nothing. A
// rule without selector selects every device, as in Kubernetes' slice tracker. Cost: a slice O(log n + rules
// + devices selected); a rule O(slices). Source: KEP-5055.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "client/view.h"
#include "model/cluster.h"

namespace berth::dra {

class TaintRules {
 public:
  // Passes the change to the cluster; every kind goes through here.
  void apply(const client::Delta& delta, model::Cluster& cluster);

 private:
  using SlicePtr = std::shared_ptr<const api::ResourceSlice>;
  using RulePtr = std::shared_ptr<const api::DeviceTaintRule>;
  struct Known {
    SlicePtr live;
    SlicePtr merged;
  };

  void slice_changed(const api::ObjectKey& key, SlicePtr after, model::Cluster& cluster);
  void rule_changed(const std::string& name, const RulePtr& after, model::Cluster& cluster);
  SlicePtr merged(const SlicePtr& slice) const;

  std::map<std::string, Known> slices_;
  std::map<std::string, RulePtr> rules_;  // those that block
};

}  // namespace berth::dra
