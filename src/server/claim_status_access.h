// Who may write which part of a ResourceClaim's status, beside the right to write the status at all.
//
// What is allocated and reserved takes rights to resourceclaims/binding. The status of a device takes those
// to resourceclaims/driver under the name of its driver. Their verb is associated-node:update (or patch) for
// an account whose token is of the claim's node, else arbitrary-node:update. Pure but for the questions to
// Access. Source: KEP-4817, gate DRAResourceClaimGranularStatusAuthorization, and pkg/registry/resource of
// Kubernetes 1.37.
#pragma once

#include <string_view>

#include "api/field_error.h"
#include "base/json.h"
#include "server/http.h"
#include "server/object_target.h"

namespace berth::server {

class Access;

// Why `user` may not change the status of this claim from `before` to `next`; empty: it may. `verb`: "update"
// or "patch".
api::FieldErrors claim_status_errors(Access& access, const User& user, std::string_view verb,
                                     const ObjectTarget& target, const Json& next, const Json& before);

}  // namespace berth::server
