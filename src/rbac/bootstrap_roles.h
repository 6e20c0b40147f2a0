// The roles and bindings that every cluster has: cluster-admin, admin, edit, view, system:*.
//
// Data: bootstrap_roles.inc, made by tools/bootstrap_roles.py from the policy of Kubernetes 1.37.
#pragma once

#include <vector>

#include "base/json.h"

namespace berth::rbac {

// With their kind and apiVersion, the roles first.
std::vector<Json> bootstrap_objects();

// What a stored object of the same name lacks: Kubernetes adds missing rules and subjects at each start. The
// object with them, or the one that was given: when it lacks none, or has the annotation
// rbac.authorization.kubernetes.io/autoupdate with the value "false". A role is not changed whose rules are
// collected.
Json with_bootstrap_rights(const Json& stored, const Json& wanted);

}  // namespace berth::rbac
