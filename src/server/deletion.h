// The effect of a DELETE on an object, and the completion of a pending deletion.
//
// Pure, any thread. Source: k8s.io/apiserver registry/rest BeforeDelete and the pods' graceful deletion;
// responses observed.
#pragma once

#include "base/json.h"
#include "base/time.h"
#include "server/object_target.h"
#include "server/status.h"
#include "server/write_options.h"

namespace berth::server {

// An object after its deletion began.
struct Deletion {
  Json object;
  bool waits = false;     // marked, and stored until finalizers are gone and the grace period is over
  bool graceful = false;  // the kind has grace periods: the response is the object
};

// 409 when the client's uid or version differs from the stored one.
ApiResult<void> check_preconditions(const ObjectTarget& target, const DeleteOptions& options,
                                    const store::Object& current);

// Turns the propagation into finalizers. A running grace period is only ever shortened, and only by a request
// that names one.
Deletion begin_deletion(const ObjectTarget& target, const DeleteOptions& options, const Json& before,
                        Time now);

// The object was deleted, and its last finalizer was removed.
bool deletion_is_complete(const ObjectTarget& target, const Json& object);

}  // namespace berth::server
