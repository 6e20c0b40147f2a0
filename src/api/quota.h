// What an object counts against a ResourceQuota, and which quotas it counts against.
//
// Pure functions, any thread. Cost: O(containers of a pod), or of the object's ports or requests.
// Source: core/v1 ResourceQuotaSpec; pkg/quota/v1/evaluator/core of Kubernetes 1.37.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/meta.h"

namespace berth::api {

// Of one object.
struct QuotaCharge {
  ResourceMap amounts;  // by the names that spec.hard of a quota may have
  // What the scopes of quotas ask of a pod, and of a claim of a volume. Other objects are in no scope.
  bool is_pod = false;
  bool terminating = false;  // it has activeDeadlineSeconds
  bool best_effort = false;
  bool cross_namespace_affinity = false;
  std::vector<std::string> priority_classes;  // at most one
  bool is_volume_claim = false;
  std::vector<std::string> attributes_classes;  // VolumeAttributesClasses: wanted, current, on the way

  friend bool operator==(const QuotaCharge&, const QuotaCharge&) = default;
};

// `object`: a stored document of this resource. A pod that has ended counts as an object alone; one that is
// being deleted counts until it is gone.
QuotaCharge quota_charge(std::string_view group, std::string_view plural, const Json& object);

// Whether quota_charge() reads the document; objects of all other resources count alike.
bool quota_reads(std::string_view group, std::string_view plural);

// Containers that do not say what a quota of cpu or memory asks of each: by the names of spec.hard.
using UnsetAmounts = std::map<std::string, std::vector<std::string>, std::less<>>;
// Of a pod; none where it has requests or limits of its own.
UnsetAmounts unset_amounts(const Json& pod);
// "limits.cpu for: a,b; memory for: a", of the names that the quota limits.
std::string missing_amounts(const UnsetAmounts& unset, const ResourceMap& hard);

// Whether the scopes of a quota's spec let this object count.
bool is_in_scopes(const QuotaCharge& charge, const Json& quota_spec);

}  // namespace berth::api
