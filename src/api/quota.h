// What an object counts against a ResourceQuota, and which quotas it counts against.
//
// Pure functions, any thread. Cost: O(containers of a pod), or of the object's ports or requests.
// Source: core/v1 ResourceQuotaSpec; pkg/quota/v1/evaluator/core of Kubernetes 1.37.
#pragma once

#include <string>
#include <string_view>

#include "api/types/meta.h"

namespace berth::api {

// Of one object.
struct QuotaCharge {
  ResourceMap amounts;  // by the names that spec.hard of a quota may have
  // What the scopes of quotas ask of a pod. Objects of other kinds are in no scope.
  bool is_pod = false;
  bool terminating = false;  // it has activeDeadlineSeconds
  bool best_effort = false;
  bool cross_namespace_affinity = false;
  std::string priority_class;

  friend bool operator==(const QuotaCharge&, const QuotaCharge&) = default;
};

// `object`: a stored document of this resource. A pod that has ended counts as an object alone; one that is
// being deleted counts until it is gone.
QuotaCharge quota_charge(std::string_view group, std::string_view plural, const Json& object);

// Whether the scopes of a quota's spec let this object count.
bool is_in_scopes(const QuotaCharge& charge, const Json& quota_spec);

}  // namespace berth::api
